package owner_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/owner"
	"fettle.dev/fettle/internal/fleet/smallfile"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/image"
)

const dir = "/var/lib/fettle-hub"

func hubUser() owner.User { return owner.User{Name: "fettle-hub", UID: 998, GID: 997} }

func contents() [5]string {
	return [5]string{dir + "/hub.json", dir + "/keys/tls.key", dir + "/authority/authority.key", dir + "/bus/a/1.blk",
		dir + "/notify/mail"}
}

// ofRoot is the disk of a hub that was set up as root; everything is durable.
func ofRoot(t *testing.T) *mem.FS {
	t.Helper()
	files := mem.NewFS(mem.Options{})
	for _, f := range contents() {
		up, _ := host.SplitPath(f)
		must(t, smallfile.Directory(files, up))
		must(t, smallfile.Write(files, f, []byte(f)))
	}
	chmod(t, files, dir, 0o755)
	chmod(t, files, dir+"/notify/mail", 0o755)
	must(t, files.SyncFS("/"))
	return files
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func node(t *testing.T, files host.FS, p string, f func(host.Node) error) {
	t.Helper()
	n, err := files.OpenNode(p)
	must(t, err)
	must(t, errors.Join(f(n), n.Close()))
}

func chmod(t *testing.T, files host.FS, p string, mode uint32) {
	t.Helper()
	node(t, files, p, func(n host.Node) error { return n.Chmod(mode) })
}

func chown(t *testing.T, files host.FS, p string, uid uint32) {
	t.Helper()
	node(t, files, p, func(n host.Node) error { return n.Chown(uid, uid) })
}

// belongs lists the files below the directory that do not belong to the user, or that other users
// can open.
func belongs(t *testing.T, files host.FS, p string) (wrong []string) {
	t.Helper()
	st, err := files.Lstat(p)
	must(t, err)
	if u := hubUser(); st.UID != u.UID || st.GID != u.GID || st.Mode&0o077 != 0 {
		wrong = append(wrong, fmt.Sprintf("%s %d:%d %o", p, st.UID, st.GID, st.Mode))
	}
	if st.Type != image.Directory {
		return wrong
	}
	names, err := files.ReadDir(p)
	must(t, err)
	for _, n := range names {
		wrong = append(wrong, belongs(t, files, p+"/"+n)...)
	}
	return wrong
}

func TestGive(t *testing.T) {
	files := ofRoot(t)
	n, err := owner.Give(files, dir, hubUser())
	if err != nil || n != 11 {
		t.Errorf("%d, %v", n, err)
	}
	if wrong := belongs(t, files, dir); wrong != nil {
		t.Errorf("%v", wrong)
	}
	if st, err := files.Lstat(dir + "/notify/mail"); err != nil || st.Mode != 0o700 {
		t.Errorf("a program has the mode %o, %v", st.Mode, err)
	}
	if st, err := files.Lstat("/var/lib"); err != nil || st.UID != 0 {
		t.Errorf("the directory above belongs to %d, %v", st.UID, err)
	}
	for _, f := range contents() {
		if b, err := smallfile.Read(files, f); err != nil || string(b) != f {
			t.Errorf("%s: %q, %v", f, b, err)
		}
	}
}

// A directory that was given is not changed: the user can put any name into it.
func TestGivenOnce(t *testing.T) {
	files := ofRoot(t)
	_, err := owner.Give(files, dir, hubUser())
	must(t, err)
	must(t, files.Symlink("/etc/shadow", dir+"/link"))
	chown(t, files, dir+"/hub.json", 0)
	ops := 0
	n, err := owner.Give(files.Counted(func(string, string) error { ops++; return nil }), dir, hubUser())
	if n != 0 || ops != 0 || err != nil {
		t.Errorf("%d files, %d operations, %v", n, ops, err)
	}
}

// After a power cut at any point the directory belongs to root as long as any content does, and
// only root can enter it; the next call completes the work.
func TestGiveIsCompleted(t *testing.T) {
	for at := 1; ; at++ {
		files, ops := ofRoot(t), 0
		cut := errors.New("cut")
		_, err := owner.Give(files.Counted(func(string, string) error {
			if ops++; ops >= at {
				return cut
			}
			return nil
		}), dir, hubUser())
		if err == nil {
			if at < 15 {
				t.Errorf("there are only %d operations", at)
			}
			return
		}
		for dice := range uint64(4) {
			after := files.CrashClone(rand.New(rand.NewPCG(uint64(at), dice)))
			st, err := after.Lstat(dir)
			must(t, err)
			if wrong := belongs(t, after, dir); st.UID != 0 && wrong != nil {
				t.Errorf("cut at %d: the directory is given, and %v are not", at, wrong)
			}
			_, err = owner.Give(after, dir, hubUser())
			if wrong := belongs(t, after, dir); err != nil || wrong != nil {
				t.Errorf("cut at %d: %v, %v", at, wrong, err)
			}
		}
	}
}

func TestNotGiven(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(*testing.T, *mem.FS)
		want string
	}{
		"a link": {func(t *testing.T, f *mem.FS) { must(t, f.Symlink("/etc/shadow", dir+"/keys/x")) },
			"keys/x is a symbolic link"},
		"a hard link": {func(t *testing.T, f *mem.FS) { must(t, f.Link("/etc/shadow", dir+"/x")) },
			"x has another name elsewhere"},
		"a socket": {func(t *testing.T, f *mem.FS) { must(t, f.Mknod(dir+"/s", image.Socket, 0o600, 0)) },
			"s is neither a file nor a directory"},
		"a mount": {func(t *testing.T, f *mem.FS) { must(t, f.BindMount(dir+"/bus")) },
			"bus is a mount. Unmount it, or give its content away first: chown -R fettle-hub: " + dir + "/bus"},
		"a file of a third": {func(t *testing.T, f *mem.FS) { chown(t, f, dir+"/bus/a", 1000) },
			"bus/a belongs to the user with the number 1000"},
		"the directory of such": {func(t *testing.T, f *mem.FS) { chown(t, f, dir, 1000) },
			"it belongs to the user with the number 1000, not to root"},
		"a link to a directory": {func(t *testing.T, f *mem.FS) {
			must(t, errors.Join(f.Rename(dir, "/srv-hub"), f.Symlink("/srv-hub", dir)))
		}, "it is a symbolic link"},
	} {
		t.Run(name, func(t *testing.T) {
			files := ofRoot(t)
			must(t, smallfile.Directory(files, "/etc"))
			must(t, smallfile.Write(files, "/etc/shadow", []byte("secret")))
			c.do(t, files)
			_, err := owner.Give(files, dir, hubUser())
			if err == nil || !strings.Contains(err.Error(), "cannot give "+dir+" to the user fettle-hub: ") ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
			for _, p := range []string{dir + "/hub.json", "/etc/shadow", "/etc"} {
				if st, err := files.Lstat(p); err == nil && st.UID == hubUser().UID {
					t.Errorf("%s was given", p)
				}
			}
		})
	}
}

func TestMountOfTheUser(t *testing.T) {
	files := ofRoot(t)
	chown(t, files, dir+"/bus", hubUser().UID)
	must(t, files.BindMount(dir+"/bus"))
	_, err := owner.Give(files, dir, hubUser())
	must(t, err)
	if st, err := files.Lstat(dir + "/bus/a"); err != nil || st.UID != 0 {
		t.Errorf("a mount is entered: %d, %v", st.UID, err)
	}
	if st, err := files.Lstat(dir); err != nil || st.UID != hubUser().UID {
		t.Errorf("%d, %v", st.UID, err)
	}
}

func TestNoDirectory(t *testing.T) {
	if _, err := owner.Give(mem.NewFS(mem.Options{}), dir, hubUser()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
