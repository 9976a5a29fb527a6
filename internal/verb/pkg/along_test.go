package pkg

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/verb"
)

// has installs packages as they are given: NAME is a manual one, NAME? came as a dependency.
func has(t *testing.T, h *mem.Host, names ...string) {
	t.Helper()
	for _, n := range names {
		name, auto := strings.CutSuffix(n, "?")
		if _, err := h.Repository().Change(t.Context(), []host.PackageChange{{Name: name, Auto: &auto}},
			func(host.Progress) {}); err != nil {
			t.Fatal(err)
		}
	}
}

// gone moves packages away that came with others: also are their names.
func gone(t *testing.T, name string, also ...string) *verb.GroupMove {
	t.Helper()
	to := image.Package{AlsoChanged: map[string]string{}}
	for _, a := range also {
		to.AlsoChanged[a] = ""
	}
	return &verb.GroupMove{Step: parse(t, "PKG "+name+" ensure=absent"),
		From: image.Of(&image.Package{Version: "1"}), To: image.Of(&to)}
}

// TestNobodyLosesAPackage: what somebody else needs is not removed along, and nothing is.
func TestNobodyLosesAPackage(t *testing.T) {
	h, e := machine(t)
	has(t, h, "web")
	_, ferr := Pkg{}.Foretell(t.Context(), e, []*verb.GroupMove{gone(t, "lib")})
	merr := (Pkg{}).MoveAll(t.Context(), e, []*verb.GroupMove{gone(t, "lib")})
	for _, err := range []error{ferr, merr} {
		var needed *NeededError
		if !errors.As(err, &needed) || !slices.Equal(needed.By, []string{"web"}) ||
			!strings.Contains(err.Error(), `package "web" { ensure = "absent" }`) {
			t.Errorf("%v", err)
		}
	}
	if got := installed(t, h); got != "1,,1" {
		t.Errorf("installed %s", got)
	}
	if err := (Pkg{}).MoveAll(t.Context(), e, []*verb.GroupMove{gone(t, "lib"), gone(t, "web")}); err != nil ||
		installed(t, h) != ",," {
		t.Errorf("together: %v, %s", err, installed(t, h))
	}
}

// TestWhyDependenciesStay: what came with a package goes with it, unless it is in the list, it is
// held, an administrator wanted it, or something else needs it.
func TestWhyDependenciesStay(t *testing.T) {
	for name, c := range map[string]struct {
		lib     string // as has takes it, before web comes
		claimed bool
		held    bool
		needed  bool
		want    string // why lib stays, "" if it goes
	}{
		"goes":    {lib: "lib?"},
		"claimed": {lib: "lib?", claimed: true, want: "it is in the list"},
		"held":    {lib: "lib?", held: true, want: "it is held"},
		"manual":  {lib: "lib", want: "it is marked as installed manually"},
		"needed":  {lib: "lib?", needed: true, want: "needed by tool"},
	} {
		h, e := machine(t)
		has(t, h, c.lib, "web")
		if c.needed {
			h.Repository().Publish(mem.Release{Name: "tool", Version: "1", Depends: []string{"lib"}})
			has(t, h, "tool")
		}
		if c.held {
			if _, err := h.Repository().Change(t.Context(), []host.PackageChange{{Name: "lib", Version: "1", Held: &c.held}},
				func(host.Progress) {}); err != nil {
				t.Fatal(err)
			}
		}
		e.Claimed = func() map[string]bool { return map[string]bool{"lib": c.claimed} }
		moves := []*verb.GroupMove{gone(t, "web", "lib")}
		a, err := Pkg{}.Foretell(t.Context(), e, moves)
		if err != nil || a.StayReasons["lib"] != c.want || (a.Removed["lib"] == "1") != (c.want == "") ||
			len(a.Others) != len(a.Removed) || a.Others["lib"] {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
		if err := (Pkg{}).MoveAll(t.Context(), e, moves); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		all, err := h.Repository().Installed(t.Context(), []string{"lib", "web"})
		if err != nil || all["web"].Version != "" || (all["lib"].Version == "") != (c.want == "") {
			t.Errorf("%s: %+v, %v", name, all, err)
		}
		// What the list wants is nobody's dependency any more, or the next autoremove takes it.
		if (c.claimed || c.needed) && all["lib"].Auto != c.needed {
			t.Errorf("%s: lib is %+v", name, all["lib"])
		}
	}
}

// TestWhatIsDisplaced: a package that conflicts with one that comes is removed, and that is told;
// not if it is in the list, unless what was there is restored.
func TestWhatIsDisplaced(t *testing.T) {
	for _, c := range []struct{ claimed, undo, refused bool }{{false, false, false}, {true, false, true},
		{true, true, false}, {false, true, false}} {
		h, e := machine(t)
		h.Repository().Publish(mem.Release{Name: "tool", Version: "1", Conflicts: []string{"web"}})
		has(t, h, "web")
		var notes []string
		e.Note = func(text string) { notes = append(notes, text) }
		e.Claimed = func() map[string]bool { return map[string]bool{"web": c.claimed} }
		m := &verb.GroupMove{Step: parse(t, "PKG tool"), From: image.Of(&image.Package{}),
			To: image.Of(&image.Package{Version: "1"}), Undo: c.undo}
		err := (Pkg{}).MoveAll(t.Context(), e, []*verb.GroupMove{m})
		told := slices.ContainsFunc(notes, func(n string) bool { return strings.Contains(n, "apt removed web") })
		if c.refused != (err != nil) || err != nil &&
			!strings.Contains(err.Error(), "apt would remove web, which is also in the list") || told == c.refused {
			t.Errorf("%+v: %v, %q", c, err, notes)
		}
		if want := map[bool]string{true: "1,,1", false: "1,1,"}[c.refused]; installed(t, h) != want {
			t.Errorf("%+v: installed %s", c, installed(t, h))
		}
	}
}

// TestWhatARemovalLeaves is told as far as it is there.
func TestWhatARemovalLeaves(t *testing.T) {
	for name, c := range map[string]struct {
		step    string
		deleted bool
		told    bool
	}{
		"removed":             {"PKG conf ensure=absent", false, true},
		"purged":              {"PKG conf ensure=purged", false, false},
		"removed, not there":  {"PKG conf ensure=absent", true, false},
		"another, same files": {"PKG web", false, false},
	} {
		h, e := machine(t)
		h.Repository().Publish(mem.Release{Name: "conf", Version: "1", Files: map[string]string{"/etc/conf": "x"},
			Conffiles: []string{"/etc/conf"}})
		has(t, h, "conf")
		if c.deleted {
			if err := h.Remove("/etc/conf"); err != nil {
				t.Fatal(err)
			}
		}
		var notes []string
		e.Note = func(text string) { notes = append(notes, text) }
		s := parse(t, c.step)
		from, err := Pkg{}.Observe(t.Context(), e, s)
		if err != nil {
			t.Fatal(err)
		}
		to, err := Pkg{}.Target(s, from, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := (Pkg{}).Move(t.Context(), e, s, from, to); err != nil {
			t.Error(err)
		}
		if told := len(notes) == 1 && strings.Contains(notes[0], "package conf is removed; its") &&
			strings.Contains(notes[0], "/etc/conf"); told != c.told || len(notes) > 1 {
			t.Errorf("%s: %q", name, notes)
		}
	}
}
