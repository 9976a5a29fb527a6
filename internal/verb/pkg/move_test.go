package pkg

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
)

// machine has web, which needs lib, and tool, in a repository.
func machine(t *testing.T) (*mem.Host, verb.Env) {
	t.Helper()
	h := mem.New(mem.Options{})
	for _, d := range []string{"/usr", "/usr/lib", "/usr/sbin"} {
		if err := h.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	h.Repository().Publish(mem.Release{Name: "lib", Version: "1", Files: map[string]string{"/usr/lib/lib": "lib"}})
	h.Repository().Publish(mem.Release{Name: "web", Version: "1", Depends: []string{"lib"},
		Files: map[string]string{"/usr/sbin/web": "web"}})
	h.Repository().Publish(mem.Release{Name: "tool", Version: "1"})
	return h, verb.Env{Host: h, Progress: func(host.Progress) {}}
}

func parse(t *testing.T, line string) step.Step {
	t.Helper()
	l, ds := step.Parse("list", []byte(line+"\n"))
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	return l[0]
}

func installed(t *testing.T, h *mem.Host) string {
	t.Helper()
	all, err := h.Repository().Installed(t.Context(), []string{"lib", "tool", "web"})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(all["lib"].Version, ",", all["tool"].Version, ",", all["web"].Version)
}

// TestThereAndBack: a package brings what it needs, and going back takes that
// along, but for what somebody else needs by now.
func TestThereAndBack(t *testing.T) {
	for _, needed := range []bool{false, true} {
		h, e := machine(t)
		s := parse(t, "PKG web")
		from, err := Pkg{}.Observe(t.Context(), e, s)
		if err != nil {
			t.Fatal(err)
		}
		to, err := Pkg{}.Target(s, from, nil)
		if err != nil {
			t.Fatal(err)
		}
		m := &verb.GroupMove{Step: s, From: from, To: to}
		also, _, err := Pkg{}.Foresee(t.Context(), e, []*verb.GroupMove{m})
		if err != nil || len(also) != 1 || also["lib"] != "" {
			t.Errorf("foreseen %v, %v", also, err)
		}
		if err := (Pkg{}).MoveAll(t.Context(), e, []*verb.GroupMove{m}); err != nil ||
			fmt.Sprint(m.AlsoChanged) != fmt.Sprint(also) {
			t.Errorf("it brought %v, %v", m.AlsoChanged, err)
		}
		if got := installed(t, h); got != "1,,1" {
			t.Errorf("installed %s", got)
		}
		want := ",,"
		if needed {
			h.Repository().Publish(mem.Release{Name: "tool", Version: "2", Depends: []string{"lib"}})
			if err := (Pkg{}).Move(t.Context(), e, parse(t, "PKG tool version=2"), image.Of(&image.Package{}),
				image.Of(&image.Package{Version: "2"})); err != nil {
				t.Fatal(err)
			}
			want = "1,2,"
		}
		now, err := Pkg{}.Observe(t.Context(), e, s)
		if err != nil {
			t.Fatal(err)
		}
		before := *from.Package()
		before.AlsoChanged = m.AlsoChanged
		if err := (Pkg{}).Move(t.Context(), e, s, now, image.Of(&before)); err != nil {
			t.Error(err)
		}
		if got := installed(t, h); got != want {
			t.Errorf("needed by another %v: installed %s, want %s", needed, got, want)
		}
	}
}

// TestReturnsAsItWas: a package that comes back with another one has the mark that it had: it is
// a dependency again if it was one, and nobody's autoremove takes it if it was not.
func TestReturnsAsItWas(t *testing.T) {
	for _, c := range []struct {
		autos []string
		auto  bool
	}{{nil, false}, {[]string{"tool"}, true}, {[]string{"other"}, false}} {
		h, e := machine(t)
		s := parse(t, "PKG lib")
		now, err := Pkg{}.Observe(t.Context(), e, s)
		if err != nil {
			t.Fatal(err)
		}
		before := image.Of(&image.Package{Version: "1", AlsoChanged: map[string]string{"tool": "1"},
			AutoBefore: c.autos})
		if err := (Pkg{}).MoveAll(t.Context(), e, []*verb.GroupMove{{Step: s, From: now, To: before,
			Undo: true}}); err != nil {
			t.Fatal(err)
		}
		all, err := h.Repository().Installed(t.Context(), []string{"lib", "tool"})
		if err != nil {
			t.Fatal(err)
		}
		if all["tool"].Version != "1" || all["tool"].Auto != c.auto || all["lib"].Version != "1" || all["lib"].Auto {
			t.Errorf("%q: tool is %+v, lib %+v", c.autos, all["tool"], all["lib"])
		}
	}
}

// TestKeptDependencyAsItWas: a package that a removal kept and marked as manually installed is a
// dependency again when the removed package returns, and at no other time.
func TestKeptDependencyAsItWas(t *testing.T) {
	for name, c := range map[string]struct {
		to   image.Package
		has  string
		auto bool
	}{
		"returns":            {image.Package{Version: "1", AutoBefore: []string{"tool"}}, "tool", true},
		"returns, not there": {image.Package{Version: "1", AutoBefore: []string{"tool"}}, "web", false},
		"does not return":    {image.Package{AutoBefore: []string{"tool"}}, "tool", false},
		"another, at a version": {image.Package{Version: "1", AlsoChanged: map[string]string{"tool": ""},
			AutoBefore: []string{"tool"}}, "tool", false},
	} {
		h, e := machine(t)
		has(t, h, c.has)
		s := parse(t, "PKG lib")
		now, err := Pkg{}.Observe(t.Context(), e, s)
		if err != nil {
			t.Fatal(err)
		}
		if err := (Pkg{}).MoveAll(t.Context(), e, []*verb.GroupMove{{Step: s, From: now,
			To: image.Of(&c.to)}}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		all, err := h.Repository().Installed(t.Context(), []string{"tool"})
		if err != nil || all["tool"].Auto != c.auto || (all["tool"].Version != "") != (c.has == "tool") {
			t.Errorf("%s: %+v, %v", name, all, err)
		}
	}
}

// TestNothingToDo costs no transaction.
func TestNothingToDo(t *testing.T) {
	h, e := machine(t)
	one := image.Of(&image.Package{Version: "1"})
	h.Repository().Fail(errors.New("a transaction"))
	m := []*verb.GroupMove{{Step: parse(t, "PKG tool"), From: one, To: one}}
	also, _, err := Pkg{}.Foresee(t.Context(), e, m)
	if err = errors.Join(err, (Pkg{}).MoveAll(t.Context(), e, m)); err != nil || also != nil {
		t.Errorf("%v, %v", also, err)
	}
}

// none is a machine without dpkg; mute is one whose dpkg does not answer.
type none struct{ *mem.Host }

var errNone = errors.New("no dpkg")

func (none) Packages() (host.Packages, error) { return nil, errNone }

type mute struct{ *mem.Host }

func (m mute) Packages() (host.Packages, error) { return silent{m.Repository()}, nil }

type silent struct{ host.Packages }

func (silent) Installed(context.Context, []string) (map[string]image.Package, error) {
	return nil, errNone
}

func TestErrors(t *testing.T) {
	h, e := machine(t)
	s := parse(t, "PKG web")
	m := []*verb.GroupMove{{Step: s, From: image.Of(&image.Package{}),
		To: image.Of(&image.Package{Version: image.Candidate})}}
	without := verb.Env{Host: none{h}, Progress: e.Progress}
	_, oerr := Pkg{}.Observe(t.Context(), without, s)
	_, _, ferr := Pkg{}.Foresee(t.Context(), without, m)
	_, merr := Pkg{}.Observe(t.Context(), verb.Env{Host: mute{h}}, s)
	for _, err := range []error{oerr, ferr, merr, (Pkg{}).MoveAll(t.Context(), without, m)} {
		if !errors.Is(err, errNone) {
			t.Error(err)
		}
	}
	h.Repository().Fail(errors.New("no network"))
	if err := (Pkg{}).MoveAll(t.Context(), e, m); err == nil ||
		!strings.Contains(err.Error(), "cannot change packages web: ") {
		t.Error(err)
	}
}

// TestIrreversible: an older version whose file is gone, and only that.
func TestIrreversible(t *testing.T) {
	p := func(v string, kept bool) image.Image {
		return image.Of(&image.Package{Version: v, DebStored: kept})
	}
	for name, c := range map[string]struct {
		from, to image.Image
		want     bool
	}{
		"upgrade": {p("1", false), p("2", false), true}, "kept": {p("1", true), p("2", false), false},
		"install": {p("", false), p("1", false), false},
		"same":    {p("1", false), p("1", false), false}, "unknown": {image.Image{}, p("1", false), false},
	} {
		if got := (Pkg{}).Irreversible(step.Step{}, c.from, c.to); (got != "") != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestTarget: what a step makes of a package.
func TestTarget(t *testing.T) {
	half := image.Package{Version: "1", Status: "iF"}
	for line, c := range map[string]struct{ now, want image.Package }{
		"PKG web":               {image.Package{}, image.Package{Version: image.Candidate}},
		"PKG web version=2":     {image.Package{Version: "1"}, image.Package{Version: "2"}},
		"PKG web held=true":     {image.Package{Version: "1"}, image.Package{Version: "1", Held: true}},
		"PKG web ensure=absent": {image.Package{Version: "1", Held: true}, image.Package{}},
		"PKG web held=false":    {half, image.Package{Version: "1", Status: "ii"}},
	} {
		to, err := Pkg{}.Target(parse(t, line), image.Of(&c.now), nil)
		if err != nil || to.Package().Version != c.want.Version || to.Package().Held != c.want.Held ||
			to.Package().Status != c.want.Status {
			t.Errorf("%s: %+v, %v", line, to.Package(), err)
		}
	}
}
