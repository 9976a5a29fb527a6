package flood

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fettle.dev/fettle/test/needs"
)

// cgroup is a memory cgroup of version 1 or 2.
type cgroup struct{ dir, limit, events string }

// newCgroup makes one with a limit in bytes.
func newCgroup(t *testing.T, limit int) cgroup {
	t.Helper()
	needs.Root(t)
	name := fmt.Sprintf("fettle-flood-%d", os.Getpid())
	for _, c := range []cgroup{
		{filepath.Join("/sys/fs/cgroup/memory", name), "memory.limit_in_bytes", "memory.oom_control"},
		{filepath.Join("/sys/fs/cgroup", name), "memory.max", "memory.events"},
	} {
		if os.Mkdir(c.dir, 0o755) != nil {
			continue
		}
		t.Cleanup(func() { _ = os.Remove(c.dir) })
		if os.WriteFile(filepath.Join(c.dir, c.limit), fmt.Append(nil, limit), 0) == nil {
			return c
		}
	}
	needs.Missing(t, "the test needs the memory controller of cgroups")
	return cgroup{}
}

func (c cgroup) procs() string { return filepath.Join(c.dir, "cgroup.procs") }

// killed tells how many processes the kernel has killed because of the limit.
func (c cgroup) killed(t *testing.T) (n int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(c.dir, c.events))
	_, after, ok := strings.Cut(string(text), "oom_kill ")
	if err != nil || !ok {
		t.Fatalf("cannot read how many processes were killed: %v, %q", err, text)
	}
	if _, err := fmt.Sscan(after, &n); err != nil {
		t.Fatal(err)
	}
	return n
}
