package machine

import (
	"fmt"
	"os"
	"os/exec"
)

// Install finds a program, and installs its package when it is missing and we are
// root. The error says that it is not measured, and why.
func Install(program, pkg string) error {
	if _, err := exec.LookPath(program); err == nil {
		return nil
	}
	if os.Geteuid() != 0 {
		return fmt.Errorf("%s is not measured: it is not installed. As root: apt-get install %s", program, pkg)
	}
	fmt.Fprintln(os.Stderr, "installing", pkg)
	get := func(args ...string) ([]byte, error) {
		cmd := exec.Command("apt-get", append([]string{"-q", "-y", "--no-install-recommends"}, args...)...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		return cmd.CombinedOutput()
	}
	out, err := get("install", pkg)
	if err != nil {
		if _, err = get("update"); err == nil {
			out, err = get("install", pkg)
		}
	}
	if err != nil {
		return fmt.Errorf("%s is not measured: it cannot be installed: %w\n%s", program, err, out[max(0, len(out)-500):])
	}
	return nil
}
