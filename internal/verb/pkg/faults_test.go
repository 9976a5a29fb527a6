package pkg

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
)

var errApt = errors.New("apt does not answer")

// tricky is apt with answers of its own, where a function is set.
type tricky struct {
	*mem.Packages
	installed func() error
	outlook   func(changes []host.PackageChange) (host.PackageOutlook, error)
	canKeep   func(name string) bool
}

func (p *tricky) Installed(ctx context.Context, names []string) (map[string]image.Package, error) {
	if p.installed != nil {
		if err := p.installed(); err != nil {
			return nil, err
		}
	}
	return p.Packages.Installed(ctx, names)
}

func (p *tricky) Outlook(ctx context.Context, changes []host.PackageChange,
	keep []string) (host.PackageOutlook, error) {
	if p.outlook != nil {
		return p.outlook(changes)
	}
	return p.Packages.Outlook(ctx, changes, keep)
}

func (p *tricky) CanKeep(_ context.Context, name, _ string) bool { return p.canKeep(name) }

type trickyHost struct {
	*mem.Host
	apt *tricky
}

func (h trickyHost) Packages() (host.Packages, error) { return h.apt, nil }

// tricked is a machine whose apt can be changed.
func tricked(t *testing.T) (*mem.Host, *tricky, verb.Env) {
	t.Helper()
	h, e := machine(t)
	apt := &tricky{Packages: h.Repository()}
	e.Host = trickyHost{h, apt}
	return h, apt, e
}

// TestWhatCameIsMarked: what came with a package is a dependency, also if an apt that was interrupted did not
// mark it; not if it was there before, or if a step is about it.
func TestWhatCameIsMarked(t *testing.T) {
	for name, c := range map[string]struct {
		was, to string // the version of lib before, and that of web after
		also    bool   // a step is about lib
		marked  bool
	}{
		"came":           {"", "1", false, true},
		"was there":      {"1", "1", false, false},
		"goes away":      {"", "", false, false},
		"a step has it":  {"", "1", true, false},
		"there and step": {"1", "1", true, false},
	} {
		h, e := machine(t)
		has(t, h, "lib")
		from := image.Package{AlsoChanged: map[string]string{"lib": c.was}}
		if c.to == "" {
			has(t, h, "web")
			from.Version = "1"
		}
		moves := []*verb.GroupMove{{Step: parse(t, "PKG web"), From: image.Of(&from),
			To: image.Of(&image.Package{Version: c.to})}}
		if c.also {
			one := image.Of(&image.Package{Version: "1"})
			moves = append(moves, &verb.GroupMove{Step: parse(t, "PKG lib"), From: one, To: one})
		}
		if err := (Pkg{}).MoveAll(t.Context(), e, moves); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		all, err := h.Repository().Installed(t.Context(), []string{"lib", "web"})
		if err != nil || all["lib"].Version != "1" || all["lib"].Auto != c.marked || all["web"].Version != c.to {
			t.Errorf("%s: %+v, %v", name, all, err)
		}
	}
}

// TestAptDoesNotAnswer: if apt cannot tell what it has or needs, nothing goes along, and the marks that are
// missing are told.
func TestAptDoesNotAnswer(t *testing.T) {
	h, apt, e := tricked(t)
	has(t, h, "lib?", "web")
	moves := []*verb.GroupMove{gone(t, "web", "lib")}
	apt.outlook = func([]host.PackageChange) (host.PackageOutlook, error) { return host.PackageOutlook{}, errApt }
	a, err := Pkg{}.Foretell(t.Context(), e, moves)
	if !errors.Is(err, errApt) || a.StayReasons["lib"] != "apt cannot determine whether a package needs it: "+
		errApt.Error() ||
		len(a.Removed) > 0 {
		t.Errorf("%+v, %v", a, err)
	}
	if err := (Pkg{}).MoveAll(t.Context(), e, moves); err != nil || installed(t, h) != "1,," {
		t.Errorf("installed %s, %v", installed(t, h), err)
	}

	h, apt, e = tricked(t)
	has(t, h, "lib")
	m := &verb.GroupMove{Step: parse(t, "PKG web"),
		From: image.Of(&image.Package{AlsoChanged: map[string]string{"lib": ""}}),
		To:   image.Of(&image.Package{Version: "1"})}
	apt.installed = func() error { return errApt }
	if err := (Pkg{}).MoveAll(t.Context(), e, []*verb.GroupMove{m}); !errors.Is(err, errApt) {
		t.Errorf("what came is not marked, and nothing is told: %v", err)
	}
}

// TestRemainsOfWhatIsThere: what a package leaves is not told if nobody knows that it went.
func TestRemainsOfWhatIsThere(t *testing.T) {
	for _, answers := range []bool{true, false} {
		h, apt, e := tricked(t)
		h.Repository().Publish(mem.Release{Name: "conf", Version: "1", Files: map[string]string{"/etc/conf": "x"},
			Conffiles: []string{"/etc/conf"}})
		has(t, h, "conf")
		var notes []string
		e.Note = func(text string) { notes = append(notes, text) }
		e.Progress = func(host.Progress) { // the change is under way
			apt.installed = func() error {
				if !answers {
					return errApt
				}
				return nil
			}
		}
		if err := (Pkg{}).MoveAll(t.Context(), e, []*verb.GroupMove{gone(t, "conf")}); err != nil {
			t.Fatal(err)
		}
		if told := slices.ContainsFunc(notes, func(n string) bool {
			return strings.Contains(n,
				"package conf is removed")
		}); told != answers {
			t.Errorf("apt answers %t: %q", answers, notes)
		}
	}
}

// TestHeldPackagesStay: apt cannot tell what a removal beside an installation takes along if that is held;
// the removal alone tells it.
func TestHeldPackagesStay(t *testing.T) {
	for _, held := range []bool{true, false} {
		h, apt, e := tricked(t)
		has(t, h, "web")
		if _, err := h.Repository().Change(t.Context(), []host.PackageChange{{Name: "web", Version: "1", Held: &held}},
			func(host.Progress) {}); err != nil {
			t.Fatal(err)
		}
		apt.outlook = func(changes []host.PackageChange) (host.PackageOutlook, error) {
			if slices.ContainsFunc(changes, func(c host.PackageChange) bool { return !c.Absent }) {
				return host.PackageOutlook{}, errApt
			}
			return host.PackageOutlook{Removes: []string{"web"}}, nil
		}
		comes := &verb.GroupMove{Step: parse(t, "PKG tool"), From: image.Of(&image.Package{}),
			To: image.Of(&image.Package{Version: "1"})}
		err := (Pkg{}).MoveAll(t.Context(), e, []*verb.GroupMove{gone(t, "lib"), comes})
		var needed *NeededError
		if errors.As(err, &needed) != held || held &&
			(!slices.Equal(needed.By, []string{"web"}) || installed(t, h) != "1,,1") {
			t.Errorf("held %t: %v, installed %s", held, err, installed(t, h))
		}
	}
}

// TestWhatStaysKeepsWhatItNeeds: a dependency that the list wants keeps its own dependencies.
func TestWhatStaysKeepsWhatItNeeds(t *testing.T) {
	for _, claimed := range []bool{true, false} {
		h, e := machine(t)
		h.Repository().Publish(mem.Release{Name: "deep", Version: "1"})
		h.Repository().Publish(mem.Release{Name: "lib", Version: "2", Depends: []string{"deep"}})
		has(t, h, "deep?", "lib?", "web")
		e.Claimed = func() map[string]bool { return map[string]bool{"lib": claimed} }
		if err := (Pkg{}).MoveAll(t.Context(), e, []*verb.GroupMove{gone(t, "web", "lib", "deep")}); err != nil {
			t.Fatal(err)
		}
		all, err := h.Repository().Installed(t.Context(), []string{"deep", "lib", "web"})
		if err != nil || all["web"].Version != "" || (all["lib"].Version != "") != claimed ||
			(all["deep"].Version != "") != claimed {
			t.Errorf("claimed %t: %+v, %v", claimed, all, err)
		}
	}
}

// TestWhichFilesAreSought: the file of a version is only sought where a step takes that version away, and
// nobody has it yet.
func TestWhichFilesAreSought(t *testing.T) {
	for line, want := range map[string]bool{
		"PKG web ensure=absent": true, "PKG web version=2": true, "PKG web version=1": false, "PKG web": false,
		"PKG tool ensure=absent": false, "PKG tool version=2": false,
	} {
		h, apt, e := tricked(t)
		has(t, h, "web")
		var asked []string
		apt.canKeep = func(name string) bool { asked = append(asked, name); return true }
		s := parse(t, line)
		got, err := Pkg{}.ObserveAll(t.Context(), e, []step.Step{s, s})
		if err != nil || got[0].Package().DebStored != want || got[1].Package().DebStored != want ||
			want != slices.Equal(asked, []string{"web", "web"}) || !want && len(asked) > 0 {
			t.Errorf("%s: asked for %q, %+v, %v", line, asked, got[0].Package(), err)
		}
	}
}

// TestHoldsThatAreInTheWay: a hold is taken away where a step says so, where it is one of fettle, or where a
// version comes that is not held; that of an administrator on a package that goes stays.
func TestHoldsThatAreInTheWay(t *testing.T) {
	for _, c := range []struct {
		line    string
		to      string
		hold    bool
		held    bool // afterwards
		changed string
	}{
		{"PKG web ensure=absent", "", false, false, "nothing"},
		{"PKG web ensure=absent", "", true, false, "false"},
		{"PKG web held=false", "", false, false, "false"},
		{"PKG web version=2", "2", false, false, "false"},
		{"PKG web version=2 held=true", "2", false, true, "true"},
		{"PKG web version=2", "2", false, true, "nothing"},
		{"PKG web version=2", "2", true, true, "true"},
	} {
		m := &verb.GroupMove{Step: parse(t, c.line), Hold: c.hold,
			From: image.Of(&image.Package{Version: "1", Held: true}),
			To:   image.Of(&image.Package{Version: c.to, Held: c.held})}
		got := "nothing"
		for _, change := range changeFor(m) {
			if change.Held != nil {
				got = fmt.Sprint(*change.Held)
			}
		}
		if got != c.changed {
			t.Errorf("%+v: the hold becomes %s", c, got)
		}
	}
}
