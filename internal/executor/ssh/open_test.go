package ssh

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// The command line is for whatever shell people log in with: csh takes neither line
// breaks nor exclamation marks between quotes.
func TestCommandLine(t *testing.T) {
	line := commandLine([]string{"-", "-", "plain", "root", "it's", "a\\b"})
	if strings.ContainsAny(line, "\n!") {
		t.Errorf("csh does not take %q", line)
	}
	for _, shell := range []string{"sh", "bash", "dash", "zsh", "fish", "csh", "tcsh"} {
		if _, err := exec.LookPath(shell); err != nil {
			continue
		}
		out, _ := exec.Command(shell, "-c", line).Output()
		if want := "fettle-boot unfit Linux "; !strings.HasPrefix(strings.TrimSpace(string(out)), want) {
			t.Errorf("%s prints %q, want %q", shell, out, want)
		}
	}
}

// boot runs the script in a home of its own.
func boot(t *testing.T, home, input string, words ...string) string {
	t.Helper()
	cmd := exec.Command("sh", append([]string{"-c", bootScript, "fettle"}, words...)...)
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CACHE_HOME=")
	cmd.Stdin = strings.NewReader(input)
	out, _ := cmd.Output()
	return strings.TrimSpace(string(out))
}

func words(digest string) []string {
	if runtime.GOARCH == "arm64" {
		return []string{"-", digest, "plain", "root", "version"}
	}
	return []string{digest, "-", "plain", "root", "version"}
}

// What comes half, or is something else, is not run and not kept.
func TestBootRefuses(t *testing.T) {
	digest := strings.Repeat("0", 64)
	for name, c := range map[string]struct{ input, says string }{
		"nothing":        {"", "full "},
		"half":           {"1000\nabc", "full "},
		"something else": {"20\n" + gzipOfNothing, "damaged "},
	} {
		home := t.TempDir()
		said := boot(t, home, c.input, words(digest)...)
		lines := strings.Split(strings.ReplaceAll(said, "\n\n", "\n"), "\n")
		if len(lines) != 2 || !strings.HasPrefix(lines[0], "fettle-boot lack ") || !strings.HasPrefix(lines[1], "fettle-boot "+c.says) {
			t.Errorf("%s: it says %q", name, said)
		}
		if left, _ := filepath.Glob(filepath.Join(home, ".cache/fettle/*")); len(left) > 0 {
			t.Errorf("%s: it leaves %v", name, left)
		}
	}
}

const gzipOfNothing = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00"

// Programs of before go but for the last three, and halves that broke off long ago.
func TestBootCleans(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, ".cache/fettle")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, age := range map[string]time.Duration{"fettle-x.1": 2 * time.Hour, "fettle-x.2": time.Minute, "mine.3": 2 * time.Hour} {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(p, time.Time{}, time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	boot(t, home, "", words(strings.Repeat("0", 64))...)
	left, _ := filepath.Glob(filepath.Join(dir, "*"))
	if got := strings.Join(left, " "); got != dir+"/fettle-x.2 "+dir+"/mine.3" {
		t.Errorf("it leaves %s", got)
	}
	if said := boot(t, home, "", "-", "-", "forget", "root"); said != "fettle-boot forgotten" {
		t.Errorf("it says %q", said)
	}
	left, _ = filepath.Glob(filepath.Join(dir, "*"))
	if got := strings.Join(left, " "); got != dir+"/mine.3" {
		t.Errorf("forgetting leaves %s", got)
	}
}

// A program that has just come works with the account's own umask, like one that was
// there: what its commands make has the same modes.
func TestBootMask(t *testing.T) {
	program := []byte("#!/bin/sh\numask\n")
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write(program)
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	home, w := t.TempDir(), words(fmt.Sprintf("%x", sha256.Sum256(program)))
	came := boot(t, home, fmt.Sprintf("%d\n%s", packed.Len(), packed.Bytes()), w...)
	there := boot(t, home, "", w...)
	if !strings.HasSuffix(came, "\n"+there) || there == "" {
		t.Errorf("the first time it says %q, the second %q", came, there)
	}
}
