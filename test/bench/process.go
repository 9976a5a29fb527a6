package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// measured is what the small process says of the one it ran.
type measured struct {
	Wall, CPU time.Duration
	RSS       int64 // bytes
}

// differs is the variable that allows a program to end with 2, which says that
// it has found differences.
const differs = "FETTLE_BENCH_DIFFERS"

// measure runs a program to its end in a small process of its own, below the
// directory root if there is one. Its output goes to the file log.
func measure(argv, env []string, root, log string) (sample, error) {
	self, err := os.Executable()
	if err != nil {
		return sample{}, err
	}
	cmd := exec.Command(self, append([]string{"measure", log, root}, argv...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		text, _ := os.ReadFile(log)
		return sample{}, fmt.Errorf("%q failed: %w\n%s", argv, err, text[max(0, len(text)-2000):])
	}
	var m measured
	if err := json.Unmarshal(out, &m); err != nil {
		return sample{}, err
	}
	return sample{wall: m.Wall, cpu: m.CPU, rss: m.RSS}, nil
}

// measureMain is that small process: LOG ROOT PROGRAM ARGUMENT…
func measureMain(args []string) error {
	log, err := os.Create(args[0])
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(args[2], args[3:]...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: args[1], Pdeathsig: syscall.SIGKILL}
	if args[1] != "" {
		cmd.Dir = "/"
	}
	began := time.Now()
	if err := cmd.Run(); err != nil && (cmd.ProcessState.ExitCode() != 2 || os.Getenv(differs) == "") {
		return err
	}
	m := measured{Wall: time.Since(began)}
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &use); err != nil {
		return err
	}
	m.CPU = time.Duration(use.Utime.Nano() + use.Stime.Nano())
	m.RSS = use.Maxrss << 10
	return json.NewEncoder(os.Stdout).Encode(m)
}

// syncAll writes out what the file system of dir holds back.
func syncAll(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Syncfs(int(f.Fd()))
}
