package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a program that is measured. It ends with the benchmark.
type process struct{ cmd *exec.Cmd }

// startProcess starts a process, and returns the line that it prints when it is ready. Further output
// is written to log.
func startProcess(cmd *exec.Cmd) (*process, string, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, "", fmt.Errorf("cannot start %s: %w", cmd.Path, err)
	}
	in := bufio.NewScanner(out)
	if !in.Scan() {
		return nil, "", errors.Join(fmt.Errorf("%s did not begin", cmd.Path), cmd.Wait())
	}
	line := in.Text()
	go func() {
		for in.Scan() { // otherwise a full pipe would stop the process
		}
	}()
	return &process{cmd}, line, nil
}

// kill ends it and all that it started, at once.
func (p *process) kill() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	_ = p.cmd.Wait()
}

// memory returns the anonymous resident memory in bytes. It excludes pages of the binary, which the
// kernel caches.
func (p *process) memory() (int64, error) { return p.status("RssAnon:") }

// resident is all that it has in memory, in bytes.
func (p *process) resident() (int64, error) { return p.status("VmRSS:") }

// peak returns the largest resident memory so far, in bytes.
func (p *process) peak() (int64, error) { return p.status("VmHWM:") }

func (p *process) status(line string) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("cannot read the memory of a process: %w", err)
	}
	_, after, _ := strings.Cut(string(text), line)
	n, err := strconv.ParseInt(firstField(after), 10, 64)
	return n << 10, err
}

// tick is the unit of processor time in /proc.
const tick = 10 * time.Millisecond

// cpu returns the CPU time of the process and of its ended children.
func (p *process) cpu() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("cannot read the processor time of a process: %w", err)
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 15 {
		return 0, errors.New("cannot read the processor time of a process")
	}
	var sum int64
	for _, f := range fields[11:15] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("cannot read the processor time of a process: %w", err)
		}
		sum += n
	}
	return time.Duration(sum) * tick, nil
}

func firstField(s string) string {
	if f := strings.Fields(s); len(f) > 0 {
		return f[0]
	}
	return ""
}

// diskOf returns the disk usage of a directory in bytes, by the first element of the paths.
func diskOf(dir string) (map[string]int64, error) {
	out := map[string]int64{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		var st syscall.Stat_t
		if err := syscall.Lstat(p, &st); err != nil {
			return nil // it was removed meanwhile
		}
		rel, err := filepath.Rel(dir, p)
		out[part(rel)] += st.Blocks * 512
		return err
	})
	return out, err
}

// part returns the part of a hub to which a file in its directory belongs.
func part(rel string) string {
	if strings.HasPrefix(rel, "view.db") {
		return "view"
	}
	if _, after, ok := strings.Cut(rel, "/streams/"); ok {
		name, _, _ := strings.Cut(after, "/")
		return strings.ToLower(strings.TrimPrefix(name, "KV_"))
	}
	first, _, _ := strings.Cut(rel, "/")
	return first
}
