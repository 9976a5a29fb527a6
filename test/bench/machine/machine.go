// Package machine is what benchmarks share: what they say of the machine they
// ran on, the programs they need there, and a process that leaves nothing behind.
//
//	facts := machine.Describe("2026-01-31", "/tmp")
//	facts = append(facts, machine.Fact{Name: "git", Value: machine.Output("git", "--version")})
package machine

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// Fact is one line of what was measured where.
type Fact struct{ Name, Value string }

// Describe tells of the machine, at a date, and of the file system that holds dir.
func Describe(date, dir string) ([]Fact, error) {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return nil, err
	}
	if date == "" {
		date = "not told"
	}
	return []Fact{
		{"date", date},
		{"host", fmt.Sprintf("%s, %d CPUs, %s", lineOf("/proc/cpuinfo", "model name"), runtime.NumCPU(), memory())},
		{"kernel", unix.ByteSliceToString(u.Release[:])},
		{"file system", fileSystem(dir)},
		{"load average at the end", firstWords("/proc/loadavg", 3)},
	}, nil
}

// Output is the first line that a program prints, as an error where it has no other,
// and "none" where it fails.
func Output(argv ...string) string {
	var errs bytes.Buffer
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "none"
	}
	if len(out) == 0 {
		out = errs.Bytes()
	}
	line, _, _ := bytes.Cut(out, []byte("\n"))
	return string(line)
}

// lineOf is the value of the first line "name : value" of a file.
func lineOf(file, name string) string {
	text, _ := os.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == name {
			return strings.TrimSpace(v)
		}
	}
	return "unknown"
}

func memory() string {
	var kib int64
	if _, err := fmt.Sscanf(lineOf("/proc/meminfo", "MemTotal"), "%d kB", &kib); err != nil {
		return "memory unknown"
	}
	return fmt.Sprintf("%.0f GiB", float64(kib)/(1<<20))
}

func firstWords(file string, n int) string {
	text, _ := os.ReadFile(file)
	words := strings.Fields(string(text))
	return strings.Join(words[:min(n, len(words))], " ")
}

// fileSystem is the type of the one that holds dir: that of the longest mount
// point above it.
func fileSystem(dir string) string {
	text, _ := os.ReadFile("/proc/self/mounts")
	best, kind := "", "unknown"
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 4 {
			continue
		}
		above := f[1] == "/" || dir == f[1] || strings.HasPrefix(dir, f[1]+"/")
		if above && len(f[1]) >= len(best) {
			best, kind = f[1], f[2]+" ("+f[3]+")"
		}
	}
	return kind
}
