// Package addr imports upwards, starts a program, prints and ends the process.
package addr

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"fettle.dev/fettle/internal/step"
)

// Addr does what it must not.
func Addr() {
	fmt.Println(exec.Command("true").Run(), syscall.Getpid(), step.Max)
	_ = os.WriteFile("x", nil, 0o644)
	os.Exit(len(os.Getenv("HOME")))
}
