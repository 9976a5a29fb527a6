package chaos

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"fettle.dev/fettle/test/needs"
)

// The environment variables of the run; see the package comment.
const (
	envLong    = "FETTLE_LONG"
	envFor     = "FETTLE_CHAOS"
	envSeed    = "FETTLE_CHAOS_SEED"
	envOnly    = "FETTLE_CHAOS_ONLY"
	envProgram = "FETTLE_CHAOS_PROGRAM" // a binary to use instead of a new one; its clock does not jump
	envWorld   = "FETTLE_CHAOS_WORLD"   // set inside the namespaces
)

// inNamespaces are the arguments of unshare.
var inNamespaces = []string{"--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"}

// shortForm is how long the run of the night takes.
const shortForm = 5 * time.Minute

func wanted() bool { return os.Getenv(envLong) != "" || os.Getenv(envFor) != "" }

// TestMain starts the test binary again in namespaces of its own. The kernel ends all processes in
// them, and removes networks and mounts, when the test ends in any way.
func TestMain(m *testing.M) {
	if os.Getenv(envWorld) != "" || os.Geteuid() != 0 ||
		exec.Command("unshare", append(inNamespaces, "true")...).Run() != nil {
		os.Exit(m.Run())
	}
	self, err := os.Executable()
	if err == nil {
		cmd := exec.Command("unshare", append(append(inNamespaces, self), os.Args[1:]...)...)
		cmd.Env = append(os.Environ(), envWorld+"=1")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		err = cmd.Run()
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		os.Exit(exit.ExitCode())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
}

// requireLong ends a test that cannot run here, or that takes too long.
func requireLong(t *testing.T) {
	t.Helper()
	if !wanted() {
		t.Skip("the chaos run takes minutes: FETTLE_LONG=1 runs it")
	}
	requireWorld(t)
}

// requireWorld ends a test that cannot run here.
func requireWorld(t *testing.T) {
	t.Helper()
	needs.Root(t)
	if os.Getenv(envWorld) == "" {
		needs.Missing(t, "the test needs the right to create namespaces")
	}
	for _, name := range []string{"unshare", "ip", "nft", "git", "chroot"} {
		needs.Program(t, name)
	}
}
