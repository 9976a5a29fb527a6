package repo_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/test/needs"
)

const ann, bob = 4242, 4243

// chown gives everything below dir to a user.
func chown(t *testing.T, dir string, user int) {
	t.Helper()
	err := filepath.Walk(dir, func(p string, _ os.FileInfo, err error) error {
		return joinErr(err, os.Lchown(p, user, user))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// noTrust sets an environment without any safe.directory, and returns the user's configuration file.
func noTrust(t *testing.T) string {
	t.Helper()
	needs.Root(t)
	home := t.TempDir()
	for name, value := range map[string]string{"SUDO_UID": "", "HOME": home, "XDG_CONFIG_HOME": "",
		"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_COUNT": "0"} {
		t.Setenv(name, value)
	}
	return home + "/.gitconfig"
}

func refused(t *testing.T, dir string, parts ...string) {
	t.Helper()
	_, err := repo.Open(context.Background(), dir)
	wantErr(t, err, parts...)
}

func TestForeignOwner(t *testing.T) {
	noTrust(t)
	g, _, _ := twoCommits(t)
	mine := g.dir + "/mine"
	if err := os.Mkdir(mine, 0o755); err != nil {
		t.Fatal(err)
	}
	g.open()
	chown(t, g.dir, ann)
	for _, dir := range []string{g.dir, mine, g.dir + "/.git"} {
		refused(t, dir, "belongs to user 4242", `runs as user "root" (0)`,
			"run: git config --global --add safe.directory "+g.dir)
	}
	t.Setenv("SUDO_UID", "4243")
	refused(t, g.dir, "run: sudo git config --global --add safe.directory "+g.dir)
	t.Setenv("SUDO_UID", "4242")
	open(t, g.dir)
	open(t, mine)
}

// TestForeignPart: one part of another user suffices.
func TestForeignPart(t *testing.T) {
	noTrust(t)
	g, _, _ := twoCommits(t)
	linked := filepath.Join(t.TempDir(), "linked")
	g.git("worktree", "add", "-q", linked)
	open(t, linked)
	for part, dir := range map[string]string{g.dir: g.dir, g.dir + "/.git": g.dir, linked: linked,
		linked + "/.git":                 linked,
		g.dir + "/.git/worktrees/linked": linked} {
		if err := os.Lchown(part, ann, ann); err != nil {
			t.Fatal(err)
		}
		refused(t, dir, fmt.Sprintf("%q belongs to user 4242", part))
		if err := os.Lchown(part, 0, 0); err != nil {
			t.Fatal(err)
		}
		open(t, dir)
	}
	bare := newGit(t, "--bare")
	open(t, bare.dir)
	chown(t, bare.dir, ann)
	refused(t, bare.dir, "safe.directory "+bare.dir)
}

func TestSafeDirectory(t *testing.T) {
	config := noTrust(t)
	g, first, _ := twoCommits(t)
	chown(t, g.dir, ann)
	home, parent := filepath.Dir(config), filepath.Dir(g.dir)
	link := home + "/link"
	if err := os.Symlink(g.dir, link); err != nil {
		t.Fatal(err)
	}
	// The repository cannot name itself.
	g.trust(g.dir+"/.git/config", "*")
	refused(t, g.dir)
	for _, c := range []struct {
		values []string
		safe   bool
	}{
		{[]string{g.dir}, true}, {[]string{"*"}, true}, {[]string{parent + "/*"}, true}, {[]string{"/*"}, true},
		{[]string{g.dir + "/"}, true}, {[]string{link}, true}, {[]string{"~/link"}, true},
		{[]string{"/other", g.dir, "/third"}, true}, {[]string{"*", "", g.dir}, true},
		{[]string{g.dir, ""}, false}, {[]string{"*", "", "/other"}, false}, {[]string{parent}, false},
		{[]string{g.dir + "/*"}, false}, {[]string{g.dir + "x"}, false}, {[]string{"r"}, false}, {[]string{"**"}, false},
	} {
		g.trust(config, c.values...)
		r, err := repo.Open(context.Background(), g.dir)
		if (err == nil) != c.safe {
			t.Errorf("%q: %v", c.values, err)
		}
		if err == nil {
			if _, info := at(t, r, "v1"); info.Commit != first {
				t.Errorf("%+v", info)
			}
			_ = r.Close()
		}
	}
}

// trust replaces or extends a configuration of git.
func (g *gitRepo) trust(file string, values ...string) {
	g.t.Helper()
	var text strings.Builder
	if old, err := os.ReadFile(file); err == nil && strings.HasSuffix(file, ".git/config") {
		text.Write(old)
	}
	text.WriteString("[safe]\n")
	for _, v := range values {
		fmt.Fprintf(&text, "\tdirectory = %q\n", v)
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o644); err != nil {
		g.t.Fatal(err)
	}
}

// TestOwnerOfUsers: a user without privileges opens repositories of other users, also of root.
func TestOwnerOfUsers(t *testing.T) {
	if dir := os.Getenv("FETTLE_TEST_OPEN"); dir != "" {
		r, err := repo.Open(context.Background(), dir)
		if err != nil {
			fmt.Println(err)
			os.Exit(3)
		}
		_ = r.Close()
		return
	}
	noTrust(t)
	g, _, _ := twoCommits(t)
	base := shared(t, g)
	for _, c := range []struct {
		owner, user int
		safe        bool
	}{{0, bob, false}, {ann, bob, false}, {bob, bob, true}} {
		chown(t, base+"/r", c.owner)
		out, err := openAs(base, c.user, "SUDO_UID="+fmt.Sprint(c.owner))
		if (err == nil) != c.safe || !c.safe && !strings.Contains(out, "runs as user 4243") {
			t.Errorf("%+v: %v %s", c, err, out)
		}
	}
}

// shared copies the repository and this test to a directory that every user reads.
func shared(t *testing.T, g *gitRepo) string {
	t.Helper()
	base, err := os.MkdirTemp("/tmp", "owner")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	self, err := os.Executable()
	if err == nil {
		err = joinErr(os.Chmod(base, 0o755), exec.Command("cp", self, base+"/test").Run(),
			exec.Command("cp", "-r", g.dir, base+"/r").Run())
	}
	if err != nil {
		t.Fatal(err)
	}
	return base
}

func openAs(base string, user int, env ...string) (string, error) {
	cmd := exec.Command(base+"/test", "-test.run=^TestOwnerOfUsers$")
	cmd.Dir = "/"
	cmd.Env = append(env, "PATH="+os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1",
		"FETTLE_TEST_OPEN="+base+"/r")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(user), Gid: uint32(user)}}
	out, err := cmd.CombinedOutput()
	return string(out), err
}
