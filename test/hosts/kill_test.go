package hosts

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// envVictim makes TestWorldDiesWithTestBinary play the victim of itself.
const envVictim = "FETTLE_HOSTS_VICTIM"

// TestWorldDiesWithTestBinary kills a test binary that has a host and looks for
// what is left of it.
func TestWorldDiesWithTestBinary(t *testing.T) {
	if os.Getenv(envVictim) != "" {
		h := NewWorld(t).Boot(t, "orphan", Options{})
		fmt.Fprintln(os.Stderr, "up", h.group())
		select {}
	}
	Require(t)
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestWorldDiesWithTestBinary$")
	cmd.Env = append(without(os.Environ(), envWorld), envVictim+"=1")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	group := awaitUp(t, bufio.NewScanner(stderr))
	if cgroupEmpty(group) {
		t.Fatal("the victim's host has no process")
	}
	cmd.Process.Kill()
	cmd.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	await(ctx, func() bool { return cgroupEmpty(group) })
	if !cgroupEmpty(group) {
		t.Fatal("the host outlived its test binary")
	}
	c, err := newCell() // the next world sweeps
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	world := filepath.Join(cacheDir(), "worlds", strings.Split(group, "/")[1])
	if exists(world) && world != c.dir {
		t.Errorf("%s was not swept", world)
	}
	if exists(filepath.Join(cgroupRoots()[0], group)) {
		t.Errorf("cgroup %s was not swept", group)
	}
}

// awaitUp returns the cgroup of the victim's host.
func awaitUp(t *testing.T, lines *bufio.Scanner) string {
	t.Helper()
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) == 2 && f[0] == "up" {
			return f[1]
		}
	}
	t.Fatal("the victim did not boot its host")
	return ""
}

// without returns env without the variable name.
func without(env []string, name string) []string {
	var rest []string
	for _, entry := range env {
		if !strings.HasPrefix(entry, name+"=") {
			rest = append(rest, entry)
		}
	}
	return rest
}
