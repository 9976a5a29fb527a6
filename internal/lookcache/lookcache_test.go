package lookcache_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/lookcache"
	"fettle.dev/fettle/internal/step"
)

func Example() {
	machine, state := mem.NewFS(mem.Options{}), mem.NewFS(mem.Options{})
	_ = machine.Mkdir("/srv", 0o755)
	key := lookcache.Key{Program: "1.0", List: "sha256:…", Run: 7}
	m := &lookcache.Memory{Key: key, Plan: json.RawMessage(`{"unchanged":1}`)}
	m.SetPaths(machine, []lookcache.Path{{Path: "/srv", Loose: true}}, func(*lookcache.Path) bool { return true })
	_ = m.Save(state)

	m = lookcache.Load(state)
	fmt.Println(m.Is(key), m.Still(context.Background(), machine, false))
	_ = machine.Remove("/srv")
	fmt.Println(m.Still(context.Background(), machine, false))
	// Output:
	// true true
	// false
}

func write(t *testing.T, f host.FS, p, text string) {
	t.Helper()
	w, err := f.Create(p)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// kept is a machine and the file of a memory of it.
func kept(t *testing.T) (machine, state host.FS) {
	t.Helper()
	machine, state = mem.NewFS(mem.Options{}), mem.NewFS(mem.Options{})
	for _, d := range []string{"/d", "/d/e", "/loose"} {
		if err := machine.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, machine, "/d/a", "")
	write(t, machine, "/d/e/b", "")
	write(t, machine, "/top", "")
	if err := machine.Symlink("a", "/d/l"); err != nil {
		t.Fatal(err)
	}
	unit, err := step.ParseLine("UNIT a.service enabled=true")
	if err != nil {
		t.Fatal(err)
	}
	m := &lookcache.Memory{Plan: json.RawMessage("{}"),
		Rest: []lookcache.Rest{{Step: unit, Image: image.Of(&image.Unit{Loaded: true})}}}
	paths := []lookcache.Path{{Path: "/top"}, {Path: "/d/l"}, {Path: "/d", Loose: true}, {Path: "/d/a"}, {Path: "/d/e"},
		{Path: "/d/e/b"}, {Path: "/d/gone"}, {Path: "/"}, {Path: "/loose", Loose: true}}
	if !m.SetPaths(machine, paths, func(p *lookcache.Path) bool {
		p.Sum = [32]byte{0xe3, 0xb0, 0xc4, 0x42, 0x98, 0xfc, 0x1c, 0x14, 0x9a, 0xfb, 0xf4, 0xc8, 0x99, 0x6f, 0xb9, 0x24,
			0x27, 0xae, 0x41, 0xe4, 0x64, 0x9b, 0x93, 0x4c, 0xa4, 0x95, 0x99, 0x1b, 0x78, 0x52, 0xb8, 0x55}
		return true
	}) {
		t.Fatal("the paths were refused")
	}
	if err := errors.Join(m.Save(state), m.Save(state)); err != nil {
		t.Fatal(err)
	}
	return machine, state
}

func still(state, machine host.FS, verify bool) bool {
	m := lookcache.Load(state)
	return m != nil && m.Still(context.Background(), machine, verify)
}

// Every change of what is remembered is noticed, and nothing else is.
func TestStill(t *testing.T) {
	set := func(p string, do func(host.Node) error) func(host.FS) error {
		return func(f host.FS) error {
			n, err := f.OpenNode(p)
			if err != nil {
				return err
			}
			return errors.Join(do(n), n.Close())
		}
	}
	chmod := func(n host.Node) error { return n.Chmod(0o600) }
	for name, c := range map[string]struct {
		do   func(host.FS) error
		want bool
	}{
		"nothing":         {func(host.FS) error { return nil }, true},
		"entry in loose":  {func(f host.FS) error { return f.Mkdir("/loose/x", 0o755) }, true},
		"entry in strict": {func(f host.FS) error { return f.Mkdir("/d/e/x", 0o755) }, false},
		"mode of loose":   {set("/loose", chmod), false},
		"owner of loose":  {set("/loose", func(n host.Node) error { return n.Chown(1, 0) }), false},
		"mode of file":    {set("/d/a", chmod), false},
		"attribute of file": {set("/d/a", func(n host.Node) error { return n.SetXattr("user.a", []byte("b")) }),
			false},
		"times of file": {set("/d/e/b", func(n host.Node) error { return n.SetTimes(1, 1) }), false},
		"file gone":     {func(f host.FS) error { return f.Remove("/top") }, false},
		"file there":    {func(f host.FS) error { return f.Mkdir("/d/gone", 0o755) }, false},
		"another file":  {func(f host.FS) error { return f.Rename("/d/e/b", "/d/a") }, false},
		"second name":   {func(f host.FS) error { return f.Link("/d/a", "/loose/a") }, false},
		"link exchanged": {func(f host.FS) error {
			return errors.Join(f.Remove("/d/l"),
				f.Symlink("a", "/d/l"))
		}, false},
		"directory became link": {func(f host.FS) error {
			return errors.Join(f.Remove("/loose"),
				f.Symlink("d", "/loose"))
		}, false},
		"entry of remembered /": {func(f host.FS) error { return f.Mkdir("/new", 0o755) }, false},
		"file no longer in directory": {func(f host.FS) error { return errors.Join(f.Remove("/d/e/b"), f.Remove("/d/e")) },
			false},
	} {
		t.Run(name, func(t *testing.T) {
			machine, state := kept(t)
			if err := c.do(machine); err != nil {
				t.Fatal(err)
			}
			for _, verify := range []bool{false, true} {
				if got := still(state, machine, verify); got != c.want {
					t.Errorf("verify %v: still %v, want %v", verify, got, c.want)
				}
			}
		})
	}
}

// A damaged file is no memory, wherever it is damaged or cut.
func TestDamage(t *testing.T) {
	machine, state := kept(t)
	f, err := state.Open("/cache/look")
	if err != nil {
		t.Fatal(err)
	}
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	good := make([]byte, st.Size)
	if _, err := f.ReadAt(good, 0); err != nil {
		t.Fatal(err)
	}
	put := func(b []byte) {
		if err := state.Remove("/cache/look"); err != nil {
			t.Fatal(err)
		}
		write(t, state, "/cache/look", string(b))
	}
	put(good)
	if !still(state, machine, true) {
		t.Fatal("the memory itself is not good")
	}
	for i := range good {
		bad := append([]byte{}, good...)
		bad[i] ^= 1 << (i % 8)
		put(bad)
		if lookcache.Load(state) != nil {
			t.Fatalf("byte %d was flipped and the memory believed", i)
		}
		put(good[:i])
		if lookcache.Load(state) != nil {
			t.Fatalf("the memory was believed with %d of %d bytes", i, len(good))
		}
	}
}

// Verify reads what lstat speaks for.
func TestVerifyReads(t *testing.T) {
	machine, state := mem.NewFS(mem.Options{}), mem.NewFS(mem.Options{})
	write(t, machine, "/a", "other than the sum")
	m := &lookcache.Memory{Plan: json.RawMessage("{}")}
	m.SetPaths(machine, []lookcache.Path{{Path: "/a"}}, func(*lookcache.Path) bool { return true })
	if err := m.Save(state); err != nil {
		t.Fatal(err)
	}
	if !still(state, machine, false) || still(state, machine, true) {
		t.Error("reading every byte told no more than lstat")
	}
}
