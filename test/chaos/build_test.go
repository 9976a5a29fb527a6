package chaos

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The program for the run reads its clock with the offset in the file.
func TestShiftedClock(t *testing.T) {
	if !wanted() {
		t.Skip("it builds the standard library again: FETTLE_LONG=1 runs it")
	}
	if os.Getenv(envProgram) != "" {
		t.Skip("the binary is given")
	}
	dir := t.TempDir()
	program, clock := filepath.Join(dir, "fettle"), filepath.Join(dir, "clock")
	buildShifted(t, program, true)
	if err := os.WriteFile(clock, []byte("-864000"), 0o600); err != nil {
		t.Fatal(err)
	}
	hub := filepath.Join(dir, "hub")
	cmd := exec.Command(program, "hub", "init", "--fleet", "acme", "--address", "127.0.0.1", "--dir", hub)
	cmd.Env = append(os.Environ(), envClock+"="+clock)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out, err := exec.Command("openssl", "x509", "-noout", "-startdate", "-in",
		filepath.Join(hub, "authority", "authority.pem")).Output()
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(strings.TrimSpace(string(out)), "=")
	from, err := time.Parse("Jan _2 15:04:05 2006 MST", text)
	if age := time.Since(from); err != nil || age < 9*24*time.Hour || age > 12*24*time.Hour {
		t.Errorf("the authority is valid from %q (%v): the clock of the program does not follow the file", text, err)
	}
}
