package names_test

import (
	"errors"
	"testing"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/names"
	"fettle.dev/fettle/internal/verb"
)

func write(t *testing.T, fsys *mem.FS, path, text string) {
	t.Helper()
	_ = fsys.Remove(path)
	f, err := fsys.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

func TestNames(t *testing.T) {
	fsys := mem.NewFS(mem.Options{})
	n := names.New(fsys)
	if id, err := n.UID("root"); err != nil || id != 0 {
		t.Errorf("root without a passwd file: %d, %v", id, err)
	}
	n.Forget()
	if err := fsys.Mkdir("/etc", 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, fsys, "/etc/passwd",
		"root:x:0:0:::\nbroken\nann:x:1000:100:::\nagain:x:1000:::\nann:x:9:9:::\nbig:x:99999999999:0:::\n")
	write(t, fsys, "/etc/group", "root:x:0:\nstaff:x:50:ann\n")
	for name, want := range map[string]uint32{"ann": 1000, "again": 1000, "4242": 4242} {
		if id, err := n.UID(name); err != nil || id != want {
			t.Errorf("%s is %d (%v), want %d", name, id, err, want)
		}
	}
	if id, err := n.GID("staff"); err != nil || id != 50 {
		t.Errorf("staff is %d (%v)", id, err)
	}
	var unknown *verb.UnknownNameError
	for _, name := range []string{"nobody-here", "big", "broken"} {
		if _, err := n.UID(name); !errors.As(err, &unknown) || unknown.Needs().Name() != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := n.UserName(1000) + " " + n.UserName(7) + " " + n.GroupName(50); got != "ann 7 staff" {
		t.Errorf("back again: %s", got)
	}
	write(t, fsys, "/etc/passwd", "bob:x:7:7:::\n")
	if n.UserName(7) != "7" {
		t.Error("it read again without being told to forget")
	}
	if n.Forget(); n.UserName(7) != "bob" {
		t.Error("it did not forget")
	}
}

// sick is a host whose files cannot be opened.
type sick struct{ host.Reader }

var errSick = errors.New("input/output error")

func (sick) Open(string) (host.File, error) { return nil, errSick }

// TestNamesThatCannotBeRead: that nobody can tell is not that there is nobody.
func TestNamesThatCannotBeRead(t *testing.T) {
	n := names.New(sick{mem.NewFS(mem.Options{})})
	if id, err := n.UID("root"); err != nil || id != 0 {
		t.Errorf("root: %d, %v", id, err)
	}
	var unknown *verb.UnknownNameError
	if _, err := n.UID("ann"); !errors.Is(err, errSick) || errors.As(err, &unknown) {
		t.Errorf("a user: %v", err)
	}
	if _, err := n.GID("staff"); !errors.Is(err, errSick) || errors.As(err, &unknown) {
		t.Errorf("a group: %v", err)
	}
}
