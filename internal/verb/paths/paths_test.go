package paths

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"fettle.dev/fettle/internal/capture"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
	"fettle.dev/fettle/test/needs"
)

// numbers are names that are numbers, and bob.
type numbers struct{}

func (numbers) UID(name string) (uint32, error) {
	if name == "bob" || name == "root" {
		return map[string]uint32{"bob": 1000, "root": 0}[name], nil
	}
	n, err := strconv.ParseUint(name, 10, 32)
	if err != nil {
		return 0, &verb.UnknownNameError{What: "user", Name: name}
	}
	return uint32(n), nil
}
func (n numbers) GID(name string) (uint32, error) { return n.UID(name) }
func (numbers) UserName(uid uint32) string        { return strconv.Itoa(int(uid)) }
func (numbers) GroupName(gid uint32) string       { return strconv.Itoa(int(gid)) }

func parse(t *testing.T, line string) step.Step {
	t.Helper()
	l, ds := step.Parse("list", []byte(line+"\n"))
	if ds.Err() != nil {
		t.Fatalf("%s: %v", line, ds.Err())
	}
	return l[0]
}

func meta(t *testing.T, line string, now image.File) image.File {
	t.Helper()
	to, err := Meta{}.Target(parse(t, "META /f "+line), image.Of(&now), numbers{})
	if err != nil {
		t.Fatal(err)
	}
	return *to.File()
}

// What META writes into the kernel is byte for byte what setfacl writes.
func TestACLIsWhatSetfaclMakes(t *testing.T) {
	needs.Root(t)
	setfacl := needs.Program(t, "setfacl")
	for _, c := range []struct{ mode, acl string }{
		{"0640", "u:1000:rw"}, {"0640", "g:44:r"}, {"0600", "u:1000:rwx,u:3:r,g:9:-,g:4:rx"}, {"0644", "u:1000:rw,m::r"},
		{"0755", "u::rwx,g::r,o::-,u:7:x"}, {"4755", "user:1000:rw,group:8:r,mask::rx,other::r"},
		{"0640", "u:4294967294:r,u:1:w"},
	} {
		p := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(p, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		mode, _ := strconv.ParseUint(c.mode, 8, 32)
		if err := unix.Chmod(p, uint32(mode)); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(setfacl, "-m", c.acl, p).CombinedOutput(); err != nil {
			t.Skipf("no ACLs here: %v %s", err, out)
		}
		want := make([]byte, 1024)
		n, err := unix.Getxattr(p, aclXattr, want)
		if err != nil {
			t.Fatal(err)
		}
		var st unix.Stat_t
		if err := unix.Stat(p, &st); err != nil {
			t.Fatal(err)
		}
		got := meta(t, "acl="+c.acl, image.File{Type: image.Regular, Mode: uint32(mode)})
		if !bytes.Equal(got.Xattrs[aclXattr], want[:n]) || got.Mode != st.Mode&0o7777 {
			t.Errorf("%s on %s: %x mode %o, setfacl makes %x mode %o", c.acl, c.mode, got.Xattrs[aclXattr], got.Mode, want[:n],
				st.Mode&0o7777)
		}
	}
}

// A mode over an ACL has the effect of chmod, and without an ACL the file is as before.
func TestModeOverACL(t *testing.T) {
	with := meta(t, "acl=u:1000:rwx,g:4:rx mode=0640", image.File{Type: image.Regular, Mode: 0o600})
	if with.Mode != 0o670 {
		t.Errorf("mode with the mask is %o", with.Mode)
	}
	narrow := meta(t, "mode=0700", with)
	if narrow.Mode != 0o700 || bytes.Equal(narrow.Xattrs[aclXattr], with.Xattrs[aclXattr]) {
		t.Errorf("mode %o and an ACL that gives as much as before", narrow.Mode)
	}
	if os.Geteuid() == 0 {
		sameAsChmod(t, with, narrow)
	}
	if got := meta(t, "mode=0600", narrow); meta(t, "mode=0600", got).Mode != 0o600 || got.Xattrs[aclXattr] == nil {
		t.Errorf("it does not stay: %+v", got)
	}
	for _, none := range []string{"-", `""`} {
		if got := meta(t, "acl="+none, with); got.Mode != 0o640 || len(got.Xattrs) != 0 {
			t.Errorf("without: mode %o %v", got.Mode, got.Xattrs)
		}
	}
}

func sameAsChmod(t *testing.T, from, to image.File) {
	t.Helper()
	p := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(p, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setxattr(p, aclXattr, from.Xattrs[aclXattr], 0); err != nil {
		t.Skipf("no ACLs here: %v", err)
	}
	if err := unix.Chmod(p, to.Mode); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 1024)
	n, err := unix.Getxattr(p, aclXattr, buf)
	if err != nil || !bytes.Equal(buf[:n], to.Xattrs[aclXattr]) {
		t.Errorf("chmod makes %x %v, META %x", buf[:max(n, 0)], err, to.Xattrs[aclXattr])
	}
}

func TestMetaErrors(t *testing.T) {
	f := image.Of(&image.File{Type: image.Regular})
	for line, want := range map[string]string{
		"acl=u:1000":            `"u:1000": write it as u:NAME:rwx`,
		"acl=z:1000:r":          `"z" is not one of u, g, m, o`,
		"acl=u:1000:rq":         `'q' is not one of r, w, x, -`,
		"acl=u:1000:r,,g:1:r":   `ACL entry ""`,
		"acl=u:nobody-here:r":   `no user "nobody-here"`,
		"attrs=iz":              `'z' is not one of the letters SiadA`,
		"owner=nobody-here":     "USER",
		"group=none mode=0640":  "none",
		"attrs=i- mode=0640":    `'-' is not one`,
		"acl=g:1:r,g:none:rwxr": "none",
	} {
		if _, err := (Meta{}).Target(parse(t, "META /f "+line), f, numbers{}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
	if _, err := (Meta{}).Target(parse(t, "META /f mode=0600"), image.Of(&image.File{Type: image.Absent}),
		numbers{}); err == nil {
		t.Error("metadata of nothing")
	}
}

func TestAttrs(t *testing.T) {
	for letters, want := range map[string]uint32{"i": 0x10, "a": 0x20, "ia": 0x30, "Sd": 0x48, "A": 0x80, "-": 0} {
		if got := meta(t, "attrs="+letters, image.File{Type: image.Regular, Attrs: 0x10}).Attrs; got != want {
			t.Errorf("%s is %#x, want %#x", letters, got, want)
		}
	}
	if got := meta(t, "mode=0600", image.File{Type: image.Regular, Attrs: 0x10}).Attrs; got != 0x10 {
		t.Errorf("attributes that it does not name became %#x", got)
	}
}

// META never touches content, on the way back neither.
func TestMetaLeavesContent(t *testing.T) {
	before := image.File{Type: image.Regular, Mode: 0o644, UID: 1, GID: 2, Xattrs: map[string][]byte{"user.a": {1}}}
	to := meta(t, "owner=bob", before)
	if to.UID != 1000 || to.GID != 2 || to.Mode != 0o644 || len(to.Xattrs) != 1 {
		t.Errorf("more than the owner changed: %+v", to)
	}
	now := capture.Taken{File: to}
	now.Digest, now.Size = "sha256:theirs", 6
	back, err := Meta{}.PathTarget(context.Background(), verb.Env{}, parse(t, "META /f owner=bob"), now,
		image.Of(&before))
	if err != nil || back.Digest != "sha256:theirs" || back.Size != 6 || back.UID != 1 {
		t.Errorf("back: %+v %v", back, err)
	}
}

const (
	one = "sha256:1111111111111111111111111111111111111111111111111111111111111111"
	two = "sha256:2222222222222222222222222222222222222222222222222222222222222222"
)

func TestCopyKeepsWhatItDoesNotSpeakOf(t *testing.T) {
	now := image.File{Type: image.Regular, Mode: 0o755, Digest: one, Attrs: 0x40,
		Xattrs: map[string][]byte{"user.a": {1}, "security.capability": {2}}}
	for digest, want := range map[string][]string{one: {"security.capability", "user.a"}, two: {"user.a"}} {
		to, err := Copy{}.Target(parse(t, "COPY "+digest+" /f owner=bob"), image.Of(&now), numbers{})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for k := range to.File().Xattrs {
			names = append(names, k)
		}
		slices.Sort(names)
		if !slices.Equal(names, want) || to.File().Attrs != 0x40 || to.File().Mode != 0o644 || to.File().UID != 1000 {
			t.Errorf("%s: %v in %+v", digest, names, to.File())
		}
	}
}

func TestWhatIsInTheWay(t *testing.T) {
	full := image.File{Type: image.Directory, Entries: []string{"x"}}
	link := image.File{Type: image.Symlink, Target: "/elsewhere"}
	for line, c := range map[string]struct {
		now  image.File
		want string
	}{
		"COPY " + one + " /f": {full, "with entries"}, "LINK a /f": {full, "with entries"},
		"MKDIR /f":            {link, `symbolic link to "/elsewhere"`},
		"COPY " + two + " /f": {image.File{Type: image.Directory}, ""}, "LINK b /f": {link, ""},
		"MKDIR /f mode=0700": {image.File{Type: image.Regular}, ""},
		"RM /f":              {full, ""}, "RM /": {full, "root"},
	} {
		s := parse(t, line)
		v := map[step.Verb]verb.Verb{step.Copy: Copy{}, step.Link: Link{}, step.Mkdir: Mkdir{}, step.Rm: Rm{}}[s.Verb]
		_, err := v.Target(s, image.Of(&c.now), numbers{})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", line, err, c.want)
		}
	}
}
