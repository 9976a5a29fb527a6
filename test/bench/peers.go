package main

import (
	"fmt"
	"os"
	"os/exec"
)

// peers tells which other tools there are.
type peers struct{ cfengine, puppet, ansible bool }

// findPeers finds the peers, and installs those that are missing when it may.
// Those that it did not get have a note.
func findPeers(s settings) (peers, []string) {
	var notes []string
	find := func(program, pkg string) bool {
		if !s.peers {
			return false
		}
		if err := installed(program, pkg); err != nil {
			notes = append(notes, err.Error())
			return false
		}
		return true
	}
	return peers{find("cf-agent", "cfengine3"), find("puppet", "puppet"), find("ansible-playbook", "ansible-core")}, notes
}

// installed finds a program, and installs its package when it is missing.
func installed(program, pkg string) error {
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
