package repo_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/test/needs"
)

// TestMirrorAsAnotherUser: a service without root reads a repository on its host that belongs to
// root or to its own user. git itself refuses that of root.
func TestMirrorAsAnotherUser(t *testing.T) {
	if dir := os.Getenv("FETTLE_TEST_MIRROR"); dir != "" {
		mirrorAsAnotherUser(t, dir)
		return
	}
	needs.Root(t)
	g, _, second := twoCommits(t)
	work := t.TempDir()
	for _, dir := range []string{filepath.Dir(g.dir), filepath.Dir(work)} {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	chown(t, work, ann)
	for _, c := range []struct {
		owner int
		want  string
	}{
		{0, "has " + second}, {ann, "has " + second},
		{bob, "belongs to user 4243, and fettle runs as user 4242. Give it to root, or read it with ssh or https"},
	} {
		chown(t, g.dir, c.owner)
		for _, source := range []string{"file://" + g.dir, g.dir + "/.git"} {
			cmd := exec.Command("/proc/self/exe", "-test.run=^TestMirrorAsAnotherUser$", "-test.v")
			cmd.Dir = "/"
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "FETTLE_TEST_MIRROR=" + work, "FETTLE_TEST_SOURCE=" + source}
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ann, Gid: ann}}
			if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), c.want) {
				t.Errorf("the repository %s of user %d: %v\n%s", source, c.owner, err, out)
			}
		}
	}
}

func mirrorAsAnotherUser(t *testing.T, dir string) {
	m, err := repo.OpenMirror(t.Context(), filepath.Join(dir, "m"), remoteOf(t, os.Getenv("FETTLE_TEST_SOURCE")), repo.MirrorLimits{})
	if err != nil {
		t.Log(err)
		return
	}
	found, err := m.Update(t.Context(), []string{"refs/heads/main"})
	t.Log("has", found["refs/heads/main"], err)
}
