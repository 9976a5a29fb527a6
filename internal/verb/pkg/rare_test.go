package pkg

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
)

// typing is apt with the shell command of a change, and with notes.
type typing struct{ host.Packages }

func (typing) Command(_ context.Context, changes []host.PackageChange) string { return show(changes) }
func (typing) Notes() []string {
	return []string{"apt repaired something"}
}

type typingHost struct {
	host.Host
	p host.Packages
}

func (h typingHost) Packages() (host.Packages, error) { return h.p, nil }

// TestCommandText: the command has the change and the dependencies; without apt or a text there is none.
func TestCommandText(t *testing.T) {
	h, e := machine(t)
	moves := []*verb.GroupMove{gone(t, "web", "lib")}
	if got := (Pkg{}).Command(t.Context(), e, moves); got != "" {
		t.Errorf("without a text: %q", got)
	}
	if got := (Pkg{}).Command(t.Context(), verb.Env{Host: none{h}}, moves); got != "" {
		t.Errorf("without apt: %q", got)
	}
	e.Host = typingHost{h, typing{h.Repository()}}
	want := `web version="" absent=true purge=falselib version="" absent=true purge=false`
	if got := (Pkg{}).Command(t.Context(), e, moves); got != want {
		t.Errorf("got %s", got)
	}
}

// TestNotesOfApt reach the user after a change.
func TestNotesOfApt(t *testing.T) {
	h, e := machine(t)
	var notes []string
	e.Note = func(text string) { notes = append(notes, text) }
	e.Host = typingHost{h, typing{h.Repository()}}
	m := &verb.GroupMove{Step: parse(t, "PKG tool"), From: image.Of(&image.Package{}),
		To: image.Of(&image.Package{Version: "1"})}
	if err := (Pkg{}).MoveAll(t.Context(), e, []*verb.GroupMove{m}); err != nil ||
		!slices.Equal(notes, []string{"apt repaired something"}) {
		t.Errorf("%q, %v", notes, err)
	}
	if Notes(h.Repository()) != nil {
		t.Error("an apt without notes has some")
	}
}

// TestErrorsOfForetell: if apt cannot be asked, nothing is foretold.
func TestErrorsOfForetell(t *testing.T) {
	h, e := machine(t)
	moves := []*verb.GroupMove{gone(t, "web", "lib")}
	if _, err := (Pkg{}).Foretell(t.Context(), verb.Env{Host: none{h}}, moves); !errors.Is(err, errNone) {
		t.Errorf("without apt: %v", err)
	}
	e.Host = mute{h}
	_, ferr := Pkg{}.Foretell(t.Context(), e, moves)
	_, _, serr := Pkg{}.Foresee(t.Context(), e, moves)
	for _, err := range []error{ferr, serr, (Pkg{}).MoveAll(t.Context(), e, moves)} {
		if !errors.Is(err, errNone) {
			t.Errorf("what is installed is unknown: %v", err)
		}
	}
	_, e = machine(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (Pkg{}).Foretell(ctx, e, moves); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	h, e = machine(t)
	h.Repository().Fail(errApt)
	m := &verb.GroupMove{Step: parse(t, "PKG web"), From: image.Of(&image.Package{}),
		To: image.Of(&image.Package{Version: "9"})}
	if _, _, err := (Pkg{}).Foresee(t.Context(), e, []*verb.GroupMove{m}); err == nil {
		t.Error("apt cannot simulate, and no error is returned")
	}
}

// TestForeseeDependencies: also the dependencies that apt only removes on request, with their present versions.
func TestForeseeDependencies(t *testing.T) {
	h, e := machine(t)
	has(t, h, "lib?", "web")
	also, _, err := Pkg{}.Foresee(t.Context(), e, []*verb.GroupMove{gone(t, "web", "lib")})
	if err != nil || !maps.Equal(also, map[string]string{"lib": "1"}) {
		t.Errorf("%v, %v", also, err)
	}
	stays := []*verb.GroupMove{{Step: parse(t, "PKG web"), From: image.Of(&image.Package{Version: "1"}),
		To: image.Of(&image.Package{Version: "1", AlsoChanged: map[string]string{"tool": "1"}})}}
	if also, _, err = (Pkg{}).Foresee(t.Context(), e, stays); err != nil ||
		!maps.Equal(also, map[string]string{"tool": ""}) {
		t.Errorf("a dependency that comes back: %v, %v", also, err)
	}
	if got := both(map[string]string{"a": "1", "b": "2"}, map[string]string{"b": "3", "c": "4"}); !maps.Equal(got,
		map[string]string{"a": "1", "b": "2", "c": "4"}) {
		t.Errorf("both: %v", got)
	}
}

// TestTargetOfHalfDone: a package that dpkg has in the middle becomes installed. What came with it before is no
// part of a target.
func TestTargetOfHalfDone(t *testing.T) {
	for status, want := range map[string]string{"rH": "ii", "iF": "ii", "hF": "hi", "ii": "ii", "rc": "ii", "ri": "ii"} {
		now := image.Package{Version: "1", Status: status, AlsoChanged: map[string]string{"lib": ""},
			AutoBefore: []string{"lib"}}
		if status == "rc" {
			now.Version = ""
		}
		to, err := Pkg{}.Target(parse(t, "PKG web"), image.Of(&now), nil)
		if err != nil || to.Package().Status != want || to.Package().AlsoChanged != nil || to.Package().AutoBefore != nil {
			t.Errorf("%s: %+v, %v", status, to.Package(), err)
		}
	}
}

// TestWhatTakesPartStays: a package in sync that takes part in a transaction is named with its version.
func TestWhatTakesPartStays(t *testing.T) {
	for version, want := range map[string]string{"1": `web version="1" absent=false purge=false`,
		"": `web version="" absent=true purge=false`} {
		one := image.Of(&image.Package{Version: version, Held: true})
		got := show(Changes([]*verb.GroupMove{{Step: parse(t, "PKG web"), From: one, To: one, InSync: true}}))
		if got != want {
			t.Errorf("%q: %s", version, got)
		}
	}
}

// TestIrreversibleOfUnknown: nothing is said about an unknown package.
func TestIrreversibleOfUnknown(t *testing.T) {
	if got := (Pkg{}).Irreversible(step.Step{}, image.Of(&image.Package{Version: "1"}),
		image.Image{}); got != "" {
		t.Error(got)
	}
}

// TestDisplacedOnlyByWhatComes: apt is asked about conflicts if a version comes, and only then.
func TestDisplacedOnlyByWhatComes(t *testing.T) {
	for _, c := range []struct {
		from, to string
		asked    bool
	}{{"", "1", true}, {"1", "2", true}, {"1", "1", false}, {"1", "", false}, {"", "", false}} {
		p := &scripted{}
		m := &verb.GroupMove{Step: parse(t, "PKG web"), From: image.Of(&image.Package{Version: c.from}),
			To: image.Of(&image.Package{Version: c.to})}
		if _, err := displaced(t.Context(), verb.Env{}, p, nil, []*verb.GroupMove{m}); err != nil ||
			(p.requests["outlook"] == 1) != c.asked {
			t.Errorf("%q to %q: asked %v, %v", c.from, c.to, p.requests, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m := &verb.GroupMove{Step: parse(t, "PKG web"), From: image.Of(&image.Package{}),
		To: image.Of(&image.Package{Version: "1"})}
	if _, err := displaced(ctx, verb.Env{}, &scripted{fails: errApt}, nil, []*verb.GroupMove{m}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := displaced(t.Context(), verb.Env{}, &scripted{fails: errApt}, nil, []*verb.GroupMove{m}); err != nil {
		t.Errorf("the change itself says more: %v", err)
	}
}

// TestAptIsAskedOnlyIfNeeded: without a removal or a further package, apt answers no question.
func TestAptIsAskedOnlyIfNeeded(t *testing.T) {
	p := &scripted{}
	if err := othersStay(t.Context(), p, []host.PackageChange{{Name: "web"}}); err != nil || len(p.requests) > 0 {
		t.Errorf("an installation: %v, %v", p.requests, err)
	}
	if err := othersStay(t.Context(), p, changesOf("web")); err != nil || p.requests["outlook"] != 1 {
		t.Errorf("a removal of one: %v, %v", p.requests, err)
	}
	p = &scripted{fails: errApt}
	if got := remains(t.Context(), p, append(changesOf(), host.PackageChange{Name: "web"},
		host.PackageChange{Name: "x", Absent: true, Purge: true})); got != nil || len(p.requests) > 0 {
		t.Errorf("nothing remains: %v", got)
	}
	(leaver{p: p}).needed(t.Context(), nil, nil, nil)
	if a, err := along(t.Context(), verb.Env{}, p, nil, []*verb.GroupMove{gone(t, "web")}); err != nil ||
		len(a.changes) > 0 || len(p.requests) > 0 {
		t.Errorf("nothing goes along: %v, %v", p.requests, err)
	}
	if a, err := along(t.Context(), verb.Env{}, p, changesOf("web"), []*verb.GroupMove{gone(t, "web")}); err != nil ||
		len(a.changes) > 0 || len(p.requests) > 0 {
		t.Errorf("a removal without other steps: %v, %v", p.requests, err)
	}
	e := verb.Env{Claimed: func() map[string]bool { return map[string]bool{"web": true} }}
	if a, err := along(t.Context(), e, p, []host.PackageChange{{Name: "web"}}, nil); err != nil ||
		len(a.changes) > 0 || len(p.requests) > 0 {
		t.Errorf("an installation beside other steps: %v, %v", p.requests, err)
	}
	if err := heldStay(t.Context(), p, []string{"web"}); !errors.Is(err, errApt) {
		t.Errorf("held packages are unknown: %v", err)
	}
}

// TestConflictOfAnInstallation: a removal is not the reason if the same change without its installations removes
// no other package.
func TestConflictOfAnInstallation(t *testing.T) {
	h, apt, _ := tricked(t)
	has(t, h, "web", "tool")
	apt.outlook = func(changes []host.PackageChange) (host.PackageOutlook, error) {
		if len(changes) == 1 {
			return host.PackageOutlook{}, nil
		}
		return host.PackageOutlook{Removes: []string{"web"}}, nil
	}
	if err := othersStay(t.Context(), apt, append(changesOf("tool"), host.PackageChange{Name: "other"})); err != nil {
		t.Error(err)
	}
}

// TestMarkedOnce: a package of the change itself has its own mark, so it is not marked again.
func TestMarkedOnce(t *testing.T) {
	now := map[string]image.Package{"lib": {Version: "1"}, "web": {Version: "2"}, "dep": {Version: "3", Auto: true}}
	got := remark([]string{"dep", "lib", "none", "web"}, now, []host.PackageChange{{Name: "web"}})
	if len(got) != 1 || got[0].Name != "lib" || got[0].Version != "1" || got[0].Auto == nil || !*got[0].Auto {
		t.Errorf("%+v", got)
	}
}

// storing is apt with the files of all installed versions.
type storing struct{ *tricky }

func (p storing) Installed(ctx context.Context, names []string) (map[string]image.Package, error) {
	all, err := p.tricky.Installed(ctx, names)
	for name, one := range all {
		one.DebStored = one.Version != ""
		all[name] = one
	}
	return all, err
}

type storingHost struct {
	*mem.Host
	apt storing
}

func (h storingHost) Packages() (host.Packages, error) { return h.apt, nil }

// TestStoredFilesAreNotSought: if the file of an installed version is stored, apt is not asked for it.
func TestStoredFilesAreNotSought(t *testing.T) {
	h, apt, e := tricked(t)
	has(t, h, "web")
	asked := 0
	apt.canKeep = func(string) bool { asked++; return false }
	e.Host = storingHost{h, storing{apt}}
	got, err := Pkg{}.ObserveAll(t.Context(), e, []step.Step{parse(t, "PKG web ensure=absent")})
	if err != nil || !got[0].Package().DebStored || asked > 0 {
		t.Errorf("%+v, asked %d times, %v", got, asked, err)
	}
}

// TestKeptPackages: packages of the list stay if they are installed as dependencies, unless the change is about
// them. Without a removal they need no other mark, and apt is not asked.
func TestKeptPackages(t *testing.T) {
	auto := image.Package{Version: "1", Auto: true}
	p := &scripted{fails: errApt}
	l := leaver{p: p, wanted: map[string]bool{"held": true, "lib": true, "manual": true, "no": false, "none": true,
		"web": true}, now: map[string]image.Package{"held": {Version: "1", Auto: true, Held: true}, "lib": auto,
		"manual": {Version: "1"}, "no": auto, "web": auto}}
	keep := l.keep(changesOf("web"))
	if !slices.Equal(keep, []string{"lib"}) {
		t.Errorf("kept: %q", keep)
	}
	var a Along
	if l.mark(t.Context(), &a, []host.PackageChange{{Name: "new"}}, keep); len(a.Marked) > 0 || len(p.requests) > 0 {
		t.Errorf("an installation: %q are marked, and apt is asked %v", a.Marked, p.requests)
	}
}
