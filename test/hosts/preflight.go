package hosts

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// tool is a program that the harness runs and the Debian package that has it.
type tool struct{ name, pkg string }

func tools() []tool {
	return []tool{
		{"apt-ftparchive", "apt-utils"},
		{"ip", "iproute2"},
		{"mmdebstrap", "mmdebstrap"},
		{"nsenter", "util-linux"},
		{"systemd-nspawn", "systemd-container"},
	}
}

// preflight says why this process cannot have hosts, or nil.
func preflight() error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("hosts need root: run the tests as root")
	}
	if pkgs := missingPackages(exec.LookPath); len(pkgs) > 0 {
		return fmt.Errorf("hosts need tools that are missing: apt-get install %s", strings.Join(pkgs, " "))
	}
	if len(cgroupRoots()) == 0 {
		return fmt.Errorf(
			"hosts need cgroup version 2, which is mounted neither on /sys/fs/cgroup nor on /sys/fs/cgroup/unified")
	}
	return nil
}

// missingPackages returns the sorted packages of the tools that look cannot find.
func missingPackages(look func(string) (string, error)) []string {
	var pkgs []string
	for _, tool := range tools() {
		if _, err := look(tool.name); err != nil {
			pkgs = append(pkgs, tool.pkg)
		}
	}
	slices.Sort(pkgs)
	return slices.Compact(pkgs)
}

// Require skips t with the reason if there can be no hosts here, or fails it
// where FETTLE_TEST_HOSTS=require is set.
func Require(t testing.TB) {
	t.Helper()
	reason := unavailable()
	switch {
	case reason == "":
	case os.Getenv("FETTLE_TEST_HOSTS") == "require":
		t.Fatal(reason)
	default:
		t.Skip(reason)
	}
}

// unavailable returns why this process has no world, "" if it has one.
func unavailable() string {
	if os.Getenv(envWorld) != "" {
		return ""
	}
	if reason := os.Getenv(envUnavailable); reason != "" {
		return reason
	}
	return "cannot have hosts outside a world: call hosts.Main from TestMain"
}
