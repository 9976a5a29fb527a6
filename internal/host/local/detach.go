package local

import (
	"fmt"
	"os/exec"
	"syscall"
)

// Detach starts a program of this host that continues after this process, its terminal and its
// session end. Detach does not wait for it, and discards its output.
func Detach(argv []string) error {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("cannot start %s in the background: %w", argv[0], err)
	}
	return cmd.Process.Release()
}
