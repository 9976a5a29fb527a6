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
	key := filepath.Join(work, "key")
	if err := os.WriteFile(key, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		owner     int
		key, want string
	}{
		{0, "", "has " + second}, {ann, "", "has " + second},
		{bob, "", "belongs to user 4243, and fettle runs as user 4242. Give it to root, or read it with ssh or https"},
		{0, key, "cannot use " + key + ": user 4242 is not allowed to read it"},
	} {
		chown(t, g.dir, c.owner)
		for _, source := range []string{"file://" + g.dir, g.dir + "/.git"} {
			cmd := exec.Command("/proc/self/exe", "-test.run=^TestMirrorAsAnotherUser$", "-test.v")
			cmd.Dir = "/"
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "FETTLE_TEST_MIRROR=" + work, "FETTLE_TEST_SOURCE=" + source,
				"FETTLE_TEST_KEY=" + c.key}
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ann, Gid: ann}}
			if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), c.want) {
				t.Errorf("the repository %s of user %d: %v\n%s", source, c.owner, err, out)
			}
		}
	}
}

func mirrorAsAnotherUser(t *testing.T, dir string) {
	key := os.Getenv("FETTLE_TEST_KEY")
	remote, err := repo.OpenRemote(os.Getenv("FETTLE_TEST_SOURCE"))
	if err == nil {
		remote, err = remote.With(repo.Access{Key: key, KnownHosts: key})
	}
	if err != nil {
		t.Fatal(err)
	}
	m, err := repo.OpenMirror(t.Context(), filepath.Join(dir, "m"), remote, repo.MirrorLimits{})
	if err != nil {
		t.Log(err)
		return
	}
	found, err := m.Update(t.Context(), []string{"refs/heads/main"})
	t.Log("has", found["refs/heads/main"], err)
}
