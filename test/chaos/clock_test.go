package chaos

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/test/gobuild"
)

// envClock names a file with the seconds that the clock of a process is ahead.
const envClock = "FETTLE_CHAOS_CLOCK"

// follower makes the program follow that file.
const follower = `package main

import (
	"os"
	"strconv"
	"strings"
	"time"
)

func init() {
	file := os.Getenv("` + envClock + `")
	if file == "" {
		return
	}
	follow := func() {
		text, _ := os.ReadFile(file)
		n, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		time.ShiftForTest(n)
	}
	follow()
	go func() {
		for {
			time.Sleep(50 * time.Millisecond)
			follow()
		}
	}()
}
`

// buildShifted builds the program with a clock that can jump. Timers and durations do not
// jump, as with the clock of the kernel. Without jumps, it builds the usual program, as other tests do.
func buildShifted(t *testing.T, file string, jumps bool) {
	t.Helper()
	if os.Getenv(envProgram) == "" && !jumps {
		if err := gobuild.Program(file, gobuild.Fettle); err != nil {
			t.Fatal(err)
		}
		return
	}
	if ready := os.Getenv(envProgram); ready != "" {
		text, err := os.ReadFile(ready)
		if err == nil {
			err = os.WriteFile(file, text, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	const reads = "	sec, nsec, mono := runtimeNow()\n"
	if strings.Count(string(text), reads) != 1 {
		t.Fatalf("cannot shift the clock: %s has another form", source)
	}
	shifted := strings.Replace(string(text), reads, reads+"	sec += shiftedForTest.Load()\n", 1)
	shifted = strings.Replace(shifted, "import (\n", "import (\n\t\"sync/atomic\"\n", 1)
	shifted += "\nvar shiftedForTest atomic.Int64\n\nfunc ShiftForTest(seconds int64) { shiftedForTest.Store(seconds) }\n"
	dir := t.TempDir()
	main, err := filepath.Abs("../../cmd/fettle/shifted_clock.go")
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{source: filepath.Join(dir, "time"),
		main: filepath.Join(dir, "main")}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"time": shifted, "main": follower, "overlay": string(overlay)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := gobuild.Program(file, gobuild.Fettle, "-overlay", filepath.Join(dir, "overlay")); err != nil {
		t.Fatal(err)
	}
}

// jump sets the clock of a hub.
func (w *world) jump(h *hub, by time.Duration) {
	temporary := h.clock() + ".new"
	err := os.WriteFile(temporary, []byte(strconv.FormatInt(int64(by/time.Second), 10)), 0o600)
	if err == nil {
		err = os.Rename(temporary, h.clock())
	}
	if err != nil {
		w.t.Fatal(err)
	}
}
