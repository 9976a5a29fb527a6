package machine

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// Apart runs a program to its end in new namespaces (CLONE_NEWNS and the like), and
// in the old ones where nobody may have new ones. It speaks where this process
// does, and is killed when this one is told to end. The thread that calls has to be
// locked to its goroutine, since the kernel ends a child with the thread that
// started it.
func Apart(argv []string, namespaces uintptr) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	cmd := child(argv, namespaces)
	err := cmd.Start()
	if errors.Is(err, syscall.EPERM) {
		cmd = child(argv, 0)
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err = <-done:
	case <-signals:
		err = errors.Join(cmd.Process.Kill(), <-done)
	}
	return err
}

// child is a process that speaks where this one does and dies with it.
func child(argv []string, namespaces uintptr) *exec.Cmd {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces, Pdeathsig: syscall.SIGKILL}
	return cmd
}
