package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// fact is one line of what was measured where.
type fact struct{ name, value string }

// describe tells of the machine and of the versions.
func describe(s settings, dir string) ([]fact, error) {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return nil, err
	}
	facts := []fact{
		{"date", orUnknown(s.date)},
		{"machine", fmt.Sprintf("%s, %d CPUs, %s", lineOf("/proc/cpuinfo", "model name"), runtime.NumCPU(), memory())},
		{"kernel", unix.ByteSliceToString(u.Release[:])},
		{"file system", fileSystem(dir)},
		{"load average before the end", firstWords("/proc/loadavg", 3)},
		{"fettle", output(s.fettle, "version")},
		{"git", output("git", "--version")},
	}
	if s.peers {
		facts = append(facts,
			fact{"cf-agent", output("cf-agent", "-V")}, fact{"puppet", output("puppet", "--version")}, fact{"ansible", output("ansible-playbook", "--version")})
	}
	return facts, nil
}

func orUnknown(s string) string {
	if s == "" {
		return "not told"
	}
	return s
}

// output is the first line that a program prints.
func output(argv ...string) string {
	out, err := exec.Command(argv[0], argv[1:]...).Output()
	if err != nil {
		return "none"
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
