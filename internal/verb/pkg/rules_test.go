package pkg

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
)

// scripted is apt as a table. It counts the requests.
type scripted struct {
	host.Packages
	now      map[string]image.Package
	refuses  func(names []string) bool // a change of these together has further changes
	fails    error
	unneeded []string
	leaves   []string // need a removed package
	needed   map[string][]string
	keep     []string // of the last outlook with such packages
	requests map[string]int
}

func (p *scripted) count(what string) error {
	if p.requests == nil {
		p.requests = map[string]int{}
	}
	p.requests[what]++
	return p.fails
}

func (p *scripted) Installed(_ context.Context, names []string) (map[string]image.Package, error) {
	out := map[string]image.Package{}
	for _, n := range names {
		out[n] = p.now[n]
	}
	return out, p.count("installed")
}

func (p *scripted) Simulate(_ context.Context, changes []host.PackageChange) (map[string]string, error) {
	if p.refuses != nil && p.refuses(names(changes)) {
		return map[string]string{"other": "1"}, p.count("simulate")
	}
	return nil, p.count("simulate")
}

func (p *scripted) Outlook(_ context.Context, _ []host.PackageChange, keep []string) (host.PackageOutlook, error) {
	if len(keep) > 0 {
		p.keep = keep
	}
	return host.PackageOutlook{Unneeded: p.unneeded, Removes: p.leaves}, p.count("outlook")
}

func (p *scripted) NeededBy(context.Context, []string) (map[string][]string, error) {
	return p.needed, p.count("needed")
}

func changesOf(names ...string) []host.PackageChange {
	var out []host.PackageChange
	for _, n := range names {
		out = append(out, host.PackageChange{Name: n, Absent: true})
	}
	return out
}

// TestTogether: of more changes, those are made that cause no further change, in their order.
func TestTogether(t *testing.T) {
	has := func(list []string, names ...string) bool {
		return !slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(list, n) })
	}
	for name, c := range map[string]struct {
		more     []string
		refuses  func([]string) bool
		fails    error
		want     string
		requests int
	}{
		"none":                 {nil, nil, nil, "", 0},
		"all":                  {[]string{"a", "b", "c"}, func(l []string) bool { return !has(l, "first") }, nil, "a b c", 1},
		"one is refused":       {[]string{"a", "b", "c"}, func(l []string) bool { return has(l, "b") }, nil, "a c", 4},
		"two exclude another":  {[]string{"a", "b", "c"}, func(l []string) bool { return has(l, "a", "c") }, nil, "a b", 4},
		"only one, refused":    {[]string{"a"}, func(l []string) bool { return has(l, "a") }, nil, "", 2},
		"apt does not answer":  {[]string{"a", "b"}, nil, errApt, "", 3},
		"with the first, none": {[]string{"a", "b"}, func(l []string) bool { return has(l, "first") }, nil, "", 3},
	} {
		p := &scripted{refuses: c.refuses, fails: c.fails}
		got := names(together(t.Context(), p, changesOf("first"), changesOf(c.more...)))
		if strings.Join(got, " ") != c.want || p.requests["simulate"] != c.requests {
			t.Errorf("%s: %q with %d requests, want %q with %d", name, got, p.requests["simulate"], c.want, c.requests)
		}
	}
}

// TestStays: the list comes first, then a hold, then the mark of an administrator. A missing mark proves nothing if
// the package is not configured, or in an undo.
func TestStays(t *testing.T) {
	for n := range 32 {
		bit := func(k int) bool { return n>>k&1 == 1 }
		claimed, held, auto, half, undo := bit(0), bit(1), bit(2), bit(3), bit(4)
		one := image.Package{Version: "1", Status: "ii", Held: held, Auto: auto}
		if half {
			one.Status = "iF"
		}
		l := leaver{now: map[string]image.Package{"lib": one}, wanted: map[string]bool{"lib": claimed}, undo: undo}
		want := ""
		switch {
		case claimed:
			want = "it is in the list"
		case held:
			want = "it is held"
		case !auto && !half && !undo:
			want = "it is marked as installed manually"
		}
		if got := l.stays("lib"); got != want {
			t.Errorf("claimed %t, held %t, auto %t, half %t, undo %t: %q, want %q", claimed, held, auto, half, undo, got, want)
		}
		if got, want := l.unmarked("lib"), half || undo && !auto; got != want {
			t.Errorf("auto %t, half %t, undo %t: unmarked %t", auto, half, undo, got)
		}
	}
	if l := (leaver{now: map[string]image.Package{"lib": {Version: "1", Auto: true}}}); l.stays("lib") != "" {
		t.Error("without a list, nothing is claimed")
	}
}

// TestLeave: what goes, what stays, and why, for a package without a valid mark and for packages of the list.
func TestLeave(t *testing.T) {
	auto := image.Package{Version: "1", Status: "ii", Auto: true}
	half := image.Package{Version: "2", Status: "iF"}
	held := image.Package{Version: "1", Status: "ii", Auto: true, Held: true}
	for name, c := range map[string]struct {
		now     map[string]image.Package
		own     []string
		claimed string
		apt     scripted
		goes    map[string]string
		stays   map[string]string
		keep    []string
		marked  []string
		outlook int
	}{
		"needs what goes": {now: map[string]image.Package{"a": auto}, own: []string{"a"},
			apt:  scripted{leaves: []string{"a", "x"}, needed: map[string][]string{"a": {"x"}}},
			goes: map[string]string{"a": "1"}, outlook: 1},
		"claimed, and only what goes needed it": {now: map[string]image.Package{"a": auto}, claimed: "a",
			marked: []string{"a"}, outlook: 1,
			apt: scripted{unneeded: []string{"a"}, needed: map[string][]string{"a": {"gone"}}}},
		"claimed, and nothing needed it before": {now: map[string]image.Package{"a": auto}, claimed: "a", outlook: 1,
			apt: scripted{unneeded: []string{"a"}, needed: map[string][]string{"a": {"x"}}}},
		"claimed, and needed": {now: map[string]image.Package{"a": auto}, claimed: "a", outlook: 1,
			apt: scripted{needed: map[string][]string{"a": {"gone", "x"}}}},
		"claimed, no answer": {now: map[string]image.Package{"a": auto}, claimed: "a", apt: scripted{fails: errApt},
			marked: []string{"a"}, outlook: 1},
		"unneeded": {now: map[string]image.Package{"a": auto}, own: []string{"a"},
			apt: scripted{unneeded: []string{"a"}}, goes: map[string]string{"a": "1"}, outlook: 1},
		"another's unneeded": {now: map[string]image.Package{"a": auto}, apt: scripted{unneeded: []string{"a"}},
			goes: map[string]string{"a": "1"}, outlook: 1},
		"needed by one that stays": {now: map[string]image.Package{"a": auto}, own: []string{"a"},
			apt:   scripted{needed: map[string][]string{"a": {"gone", "x", "y"}}},
			stays: map[string]string{"a": "needed by x, y"}, outlook: 1},
		"needed by what goes": {now: map[string]image.Package{"a": auto}, own: []string{"a"},
			apt:   scripted{needed: map[string][]string{"a": {"gone"}}},
			stays: map[string]string{"a": "apt does not report it as unneeded"}, outlook: 1},
		"needed by what changes": {now: map[string]image.Package{"a": auto}, own: []string{"a"},
			apt:   scripted{needed: map[string][]string{"a": {"new"}}},
			stays: map[string]string{"a": "needed by new"}, outlook: 1},
		"another's that stays": {now: map[string]image.Package{"a": auto}, outlook: 1},
		"half installed": {now: map[string]image.Package{"a": half}, own: []string{"a"},
			goes: map[string]string{"a": "2"}, outlook: 1},
		"half installed, needed": {now: map[string]image.Package{"a": half}, own: []string{"a"},
			stays: map[string]string{"a": "needed by x"}, outlook: 1,
			apt: scripted{refuses: func(l []string) bool { return slices.Contains(l, "a") },
				needed: map[string][]string{"a": {"x"}}}},
		"claimed": {now: map[string]image.Package{"a": auto, "b": auto}, own: []string{"a", "b"}, claimed: "a",
			apt:  scripted{unneeded: []string{"b"}},
			goes: map[string]string{"b": "1"}, stays: map[string]string{"a": "it is in the list"}, keep: []string{"a"},
			outlook: 2},
		"another's claimed": {now: map[string]image.Package{"a": auto}, claimed: "a", outlook: 1},
		"held": {now: map[string]image.Package{"a": held}, own: []string{"a"},
			stays: map[string]string{"a": "it is held"}},
		"held and no answer": {now: map[string]image.Package{"a": held}, own: []string{"a"}, apt: scripted{fails: errApt},
			stays: map[string]string{"a": "it is held"}},
		"no answer": {now: map[string]image.Package{"a": auto, "b": auto}, own: []string{"a"},
			apt:   scripted{fails: errApt, unneeded: []string{"a", "b"}},
			stays: map[string]string{"a": "apt cannot determine whether a package needs it: " + errApt.Error()}, outlook: 1},
	} {
		p := c.apt
		l := leaver{p: &p, now: c.now, own: c.own, wanted: map[string]bool{c.claimed: true}}
		a := l.leave(t.Context(), append(changesOf("gone"), host.PackageChange{Name: "new"}),
			changesOf(slices.Sorted(maps.Keys(c.now))...))
		if !maps.Equal(a.Removed, c.goes) || !maps.Equal(a.StayReasons, c.stays) || !slices.Equal(p.keep, c.keep) ||
			!slices.Equal(a.Marked, c.marked) || p.requests["outlook"] != c.outlook {
			t.Errorf("%s: %+v, kept %q, %d outlooks", name, a, p.keep, p.requests["outlook"])
		}
		for n, others := range a.Others {
			if others == slices.Contains(c.own, n) {
				t.Errorf("%s: %s is another's: %t", name, n, others)
			}
		}
		checkLeaving(t, name, a, c.now)
	}
}

// checkLeaving compares the changes for apt with the decision: one removal for each package that goes, one mark for
// each package that must not be taken by the next autoremove.
func checkLeaving(t *testing.T, name string, a Along, now map[string]image.Package) {
	t.Helper()
	for _, c := range a.changes {
		_, goes := a.Removed[c.Name]
		if c.Absent != goes || !c.Absent && (c.Auto == nil || *c.Auto || c.Version != now[c.Name].Version ||
			now[c.Name].Held) {
			t.Errorf("%s: %s", name, show([]host.PackageChange{c}))
		}
	}
	for n := range a.Removed {
		if !slices.Contains(names(a.changes), n) {
			t.Errorf("%s: %s goes without a change", name, n)
		}
	}
}

// TestDependencies: each further package once, with the version before, unless it has a move.
func TestDependencies(t *testing.T) {
	move := func(name string, also map[string]string) *verb.GroupMove {
		return &verb.GroupMove{Step: parse(t, "PKG "+name), To: image.Of(&image.Package{AlsoChanged: also})}
	}
	got := dependencies([]*verb.GroupMove{move("web", map[string]string{"a": "", "tool": "1", "z": "3"}),
		move("tool", map[string]string{"a": "2", "b": "", "web": ""})})
	if want := `a version="" absent=true purge=falsez version="3" absent=false purge=falseb version="" absent=true purge=false`; show(
		got) != want {
		t.Errorf("got  %s\nwant %s", show(got), want)
	}
}

// TestBrought: other packages go along only with a removal, and only if nothing else is said about them.
func TestBrought(t *testing.T) {
	e := verb.Env{Brought: []string{"a", "b", "web"}}
	for name, c := range map[string]struct {
		changes []host.PackageChange
		want    string
	}{
		"a removal":       {changesOf("web"), `b version="" absent=true purge=false`},
		"an installation": {[]host.PackageChange{{Name: "web"}}, ""},
		"nothing":         {nil, ""},
	} {
		if got := show(brought(e, c.changes, []string{"a"})); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestWanted: only PKG steps are about packages; the value of the others says nothing.
func TestWanted(t *testing.T) {
	l := step.List{parse(t, "PKG web"), parse(t, "PKG telnet ensure=absent"), parse(t, "PKG rsh ensure=purged"),
		parse(t, "RM /srv")}
	if got := Wanted(l); !maps.Equal(got, map[string]bool{"web": true, "telnet": false, "rsh": false}) {
		t.Errorf("%v", got)
	}
}

// TestStillThere: files that exist, and directories with something in them.
func TestStillThere(t *testing.T) {
	h := mem.New(mem.Options{})
	for _, d := range []string{"/etc", "/var", "/var/full", "/var/empty", "/var/full/x"} {
		if err := h.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	got := stillThere(h, image.Remains{Conffiles: []string{"/var/full", "/etc/none"},
		Dirs: []string{"/var/empty", "/var/full", "/var/none"}})
	if fmt.Sprint(got) != fmt.Sprint(image.Remains{Conffiles: []string{"/var/full"}, Dirs: []string{"/var/full"}}) {
		t.Errorf("%+v", got)
	}
}

// TestRemainsOfSeveral: the note is about each package that was removed, whatever stayed.
func TestRemainsOfSeveral(t *testing.T) {
	h, e := machine(t)
	var notes []string
	e.Note = func(text string) { notes = append(notes, text) }
	has(t, h, "tool")
	left := image.Remains{Dirs: []string{"/usr"}}
	noteRemains(t.Context(), e, h.Repository(), map[string]image.Remains{"gone": left, "tool": left, "zone": left,
		"nothing": {}})
	if len(notes) != 2 || !strings.HasPrefix(notes[0], "package gone ") || !strings.HasPrefix(notes[1], "package zone ") {
		t.Errorf("%q", notes)
	}
	p := &scripted{}
	noteRemains(t.Context(), e, p, nil)
	if len(p.requests) > 0 || len(notes) != 2 {
		t.Errorf("nothing left, and apt is asked: %v", p.requests)
	}
}
