package hostile

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"fettle.dev/fettle/test/campaign"
	"fettle.dev/fettle/test/needs"
)

// mallory is a user of the machine, by number. Nobody else here has it.
const mallory = 24_242

// hammer is what mallory does until he is killed: he exchanges his directories with
// links to outside, and whatever appears in them with links, pipes, directories and
// files of his own, as fast as he can.
func hammer(home, outside string) {
	for i := 0; ; i++ {
		_ = unix.Renameat2(unix.AT_FDCWD, home+"/conf", unix.AT_FDCWD, home+"/away", unix.RENAME_EXCHANGE)
		if i%7 == 0 {
			_ = unix.Renameat2(unix.AT_FDCWD, home+"/.ssh", unix.AT_FDCWD, home+"/etc", unix.RENAME_EXCHANGE)
		}
		for _, dir := range []string{home + "/conf", home + "/tree", home + "/tree/sub",
			filepath.Dir(home) + "/../tmp/mallory"} {
			vandalize(dir, outside, i)
		}
	}
}

// vandalize replaces one of the names in a directory.
func vandalize(dir, outside string, i int) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return
	}
	d := os.NewFile(uintptr(fd), dir)
	names, _ := d.Readdirnames(-1)
	defer d.Close()
	if len(names) == 0 {
		return
	}
	name := names[i%len(names)]
	switch i % 6 {
	case 0:
		swapAt(fd, name, func(n string) error { return unix.Symlinkat(outside+"/secret", fd, n) })
	case 1:
		swapAt(fd, name, func(n string) error { return unix.Symlinkat("/outside", fd, n) })
	case 2:
		swapAt(fd, name, func(n string) error { return unix.Mkfifoat(fd, n, 0o666) })
	case 3:
		swapAt(fd, name, func(n string) error { return unix.Linkat(unix.AT_FDCWD, outside+"/open", fd, n, 0) })
	case 4:
		swapAt(fd, name, func(n string) error { return unix.Symlinkat("..", fd, n) })
	case 5:
		_ = unix.Unlinkat(fd, name, 0)
		_ = unix.Mkdirat(fd, name, 0o777)
	}
}

func swapAt(fd int, name string, make func(string) error) {
	const mine = ".mallory"
	_ = unix.Unlinkat(fd, mine, 0)
	if make(mine) == nil {
		_ = unix.Renameat2(fd, mine, fd, name, unix.RENAME_EXCHANGE)
		_ = unix.Unlinkat(fd, mine, 0)
		_ = unix.Unlinkat(fd, mine, unix.AT_REMOVEDIR)
	}
}

// house is a machine on which mallory lives.
type house struct {
	t                   testing.TB
	dir, root, outside  string
	refused, done, hung int
}

func newHouse(t testing.TB) *house {
	dir := t.TempDir()
	h := &house{t: t, dir: dir, root: dir + "/root", outside: dir + "/root/outside"}
	write(t, h.root+"/etc/passwd", "root:x:0:0:root:/root:/bin/sh\nmallory:x:24242:24242::/home/mallory:/bin/sh\n", 0o644)
	write(t, h.root+"/etc/group", "root:x:0:\nmallory:x:24242:\n", 0o644)
	write(t, h.root+"/etc/shadow", "root:*:1::::::\nmallory:*:1::::::\n", 0o600)
	write(t, h.root+"/etc/gshadow", "root:*::\nmallory:!::\n", 0o600)
	write(t, h.outside+"/secret", "secret", 0o600)
	write(t, h.outside+"/open", "anybody may write here", 0o666)
	write(t, h.outside+"/sub/in", "in", 0o644)
	home := h.root + "/home/mallory"
	for _, d := range []string{"", "/conf", "/.ssh", "/tree/sub"} {
		must(t, os.MkdirAll(home+d, 0o755))
	}
	write(t, home+"/conf/old", "old", 0o644)
	write(t, home+"/tree/sub/f", "f", 0o644)
	must(t, os.Symlink("/outside", home+"/away"))
	must(t, os.Symlink("../../etc", home+"/etc"))
	must(t, os.MkdirAll(h.root+"/tmp/mallory", 0o755))
	must(t, os.Chmod(h.root+"/tmp", 0o1777))
	must(t, os.Symlink(h.outside+"/secret", h.root+"/tmp/link"))
	must(t, unix.Mkfifo(h.root+"/tmp/pipe", 0o666))
	for _, p := range []string{home, h.root + "/tmp/mallory"} {
		must(t, filepath.WalkDir(p, func(p string, _ os.DirEntry, err error) error {
			if err == nil {
				err = os.Lchown(p, mallory, mallory)
			}
			return err
		}))
	}
	for _, p := range []string{"link", "pipe"} {
		must(t, os.Lchown(h.root+"/tmp/"+p, mallory, mallory))
	}
	for name, text := range lists() {
		write(t, dir+"/lists/"+name, text, 0o644)
	}
	for _, name := range []string{"a", "b", "key"} {
		write(t, dir+"/lists/"+name+".src", "content of "+name, 0o644)
	}
	return h
}

// lists are what root keeps in mallory's directories, in versions.
func lists() map[string]string {
	return map[string]string{
		"1": `COPY a.src /home/mallory/conf/a owner=mallory group=mallory mode=0600
COPY b.src /home/mallory/conf/b mode=0644
LINK a /home/mallory/conf/l owner=mallory
MKDIR /home/mallory/conf/d owner=mallory mode=2775
COPY key.src /home/mallory/.ssh/authorized_keys owner=mallory group=mallory mode=0600
EDIT /home/mallory/conf/e line=one create=true
COPY a.src /tmp/mallory/a
META /home/mallory/tree mode=0750
`,
		"2": `COPY b.src /home/mallory/conf/a owner=mallory group=mallory mode=0640
COPY b.src /home/mallory/conf/b mode=4755
LINK b /home/mallory/conf/l
RM /home/mallory/tree
COPY key.src /home/mallory/.ssh/authorized_keys owner=mallory group=mallory mode=0644
EDIT /home/mallory/conf/e line=two create=true
COPY b.src /tmp/mallory/a owner=mallory
COPY b.src /tmp/mallory/b
`,
		"3": `MKDIR /home/mallory/conf owner=mallory purge=true
COPY a.src /home/mallory/conf/z owner=mallory
META /home/mallory/tree/sub owner=root mode=2755
`,
		"4": "COPY a.src /tmp/link\n",
		"5": "COPY a.src /tmp/pipe mode=0600\n",
		"6": "EDIT /tmp/link line=x create=true\n",
		"7": "RM /tmp/link\nRM /tmp/pipe\nRM /tmp/mallory\n",
	}
}

// fettle runs the program as root; whether it refuses is mallory's doing, but
// it neither hangs nor breaks.
func (h *house) fettle(args ...string) {
	h.t.Helper()
	e := command(h.t, append(os.Environ(), "NO_COLOR=1"), h.dir+"/lists",
		append([]string{fettle(h.t)}, append(args, "--root", h.root)...)...)
	switch {
	case e.code == -1:
		h.hung++
		h.t.Errorf("%q hangs:\n%s", args, e.out)
	case strings.Contains(e.out, "panic:") || strings.Contains(e.out, "goroutine "):
		h.t.Errorf("%q breaks:\n%s", args, e.out)
	case e.code == 0:
		h.done++
	default:
		h.refused++
		if !strings.Contains(e.out, "/home/mallory") && !strings.Contains(e.out, "/tmp/") &&
			!strings.Contains(e.out, "fettle ") {
			h.t.Errorf("%q names no path and nothing to do:\n%s", args, e.out)
		}
	}
}

// mallorys are processes of an unprivileged user.
func (h *house) mallorys(n int) (stop func()) {
	h.t.Helper()
	self := h.dir + "/mallory"
	must(h.t, copyFile(os.Args[0], self))
	var all []*exec.Cmd
	for range n {
		cmd := exec.Command(self, hammerWord, h.root+"/home/mallory", h.outside)
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: mallory, Gid: mallory},
			Pdeathsig: syscall.SIGKILL}
		must(h.t, cmd.Start())
		all = append(all, cmd)
	}
	return func() {
		for _, c := range all {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
	}
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Close()
}

// protected is everything that mallory may not change by himself.
func (h *house) protected() map[string]string {
	h.t.Helper()
	out := map[string]string{}
	for _, dir := range []string{h.outside, h.root + "/etc"} {
		must(h.t, filepath.WalkDir(dir, func(p string, _ os.DirEntry, err error) error {
			if filepath.Base(p) == "open" { // he may write there, and link it
				return err
			}
			out[p] = leaf(p)
			return err
		}))
	}
	entries, err := os.ReadDir(h.root)
	must(h.t, err)
	for _, e := range entries {
		if e.Name() != "var" {
			out["in the root: "+e.Name()] = ""
		}
	}
	return out
}

// TestLocalUser: while root applies lists in mallory's directories, mallory swaps
// what is there. Nothing outside of his directories changes.
func TestLocalUser(t *testing.T) {
	needs.Root(t)
	h := newHouse(t)
	for p := h.dir; p != "/"; p = filepath.Dir(p) { // mallory has to get there
		if st, err := os.Stat(p); err == nil && st.Mode()&0o001 == 0 {
			must(t, os.Chmod(p, st.Mode()|0o711))
		}
	}
	before := h.protected()
	stop := h.mallorys(2)
	rounds, lost := pick(2, 60), 0
	for round := range rounds {
		for _, list := range []string{"1", "2", "3", "4", "5", "6", "7"} {
			h.fettle("steps", "apply", "--yes", "--on-failure", []string{"stop", "undo"}[round%2], list)
		}
		h.fettle("rollback", "--yes", "0")
		if d := changed(before, h.protected()); len(d) > 0 {
			lost++
			t.Errorf("round %d led astray:\n%s", round, strings.Join(d, "\n"))
			break
		}
		h.intact(t)
	}
	stop()
	if h.refused == 0 || h.done == 0 {
		t.Errorf("no race took place: %d refused, %d done", h.refused, h.done)
	}
	campaign.Record(t, campaign.Campaign{Name: "Hostile user of the host", Points: rounds * 8, Hit: h.refused,
		Lost:   lost + h.hung,
		Detail: fmt.Sprintf("lists are applied and rolled back as root in directories of a user who exchanges links, pipes, directories and files meanwhile; nothing outside of them changes (%d completed)", h.done)})
}

// intact: what is of root and outside of mallory's reach stays out of it, and
// nothing of his gained rights.
func (h *house) intact(t testing.TB) {
	t.Helper()
	for _, dir := range []string{h.root + "/home/mallory", h.root + "/tmp"} {
		_ = filepath.WalkDir(dir, func(p string, _ os.DirEntry, err error) error {
			var st unix.Stat_t
			if err != nil || unix.Lstat(p, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
				return nil
			}
			special := st.Mode & (unix.S_ISUID | unix.S_ISGID)
			if b, err := os.ReadFile(p); special != 0 && err == nil && string(b) != "content of b" {
				t.Errorf("%s has mode %o, owner %d and content %q", p, st.Mode, st.Uid, b)
			}
			return nil
		})
	}
}
