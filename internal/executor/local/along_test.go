package local_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/plan"
)

// TestAlong: one rule for packages that came with others, whenever those others go. A
// line of a case is a list to apply; "back N" rolls back to run N; "fails …" is a list whose run fails and is undone; "admin …" is what an
// administrator does. host is what is installed then, and plan must be shown before the
// last line.
func TestAlong(t *testing.T) {
	for name, c := range map[string]struct {
		lines       []string
		host, shown string
	}{
		"unneeded":                  {[]string{"PKG app", ""}, "", "lib is also removed"},
		"it is in the list":         {[]string{"PKG app", "PKG lib"}, "lib", "stays: lib: it is in the list"},
		"the list wanted it before": {[]string{"PKG app; PKG lib", "PKG lib"}, "lib", ""},
		"adopted, then alone": {[]string{"PKG app", "PKG app; PKG lib", "PKG lib"}, "lib",
			"stays: lib: it is in the list"},
		"adopted, then not": {[]string{"PKG app", "PKG app; PKG lib", "PKG app"}, "app lib(auto)",
			"app needs it, so it stays"},
		"adopted, then nothing": {[]string{"PKG app", "PKG app; PKG lib", ""}, "", ""},
		"adopted, absent, origin": {[]string{"PKG app", "PKG app; PKG lib", "PKG lib ensure=absent", "back 0"}, "",
			""},
		"wanted alone, then nothing": {[]string{"PKG app", "PKG lib", ""}, "", ""},
		"manual": {[]string{"PKG app", "admin manual lib", ""}, "lib",
			"stays: lib: it is marked as installed manually"},
		"held": {[]string{"PKG app", "admin hold lib", ""}, "lib(auto)", "stays: lib: it is held"},
		"needed by another": {[]string{"PKG app", "admin install app2", ""}, "app2 lib(auto)",
			"stays: lib: needed by app2"},
		"recommended by another": {[]string{"PKG app", "admin install rec", ""}, "lib(auto) rec",
			"stays: lib: needed by rec"},
		"one of two, then the other": {[]string{"PKG app; PKG app2", "PKG app2", ""}, "", "lib is also removed"},
		"two transactions": {[]string{"PKG app; EXEC e -- /bin/true; PKG app2", ""}, "",
			"lib is also removed"},
		"one run, then another": {[]string{"PKG app", "PKG app; PKG tool", "PKG app; PKG tool; PKG app2",
			"PKG app2; PKG tool", "PKG tool"}, "tool", "lib is also removed"},
		"rollback by one": {[]string{"GROUP g", "PKG app; GROUP g", "back 1"}, "", "lib is also removed"},
		"rollback by two": {[]string{"GROUP g", "PKG app", "PKG app; PKG app2", "back 1"}, "",
			"lib is also removed"},
		"rollback to the origin":          {[]string{"PKG app", "PKG app; PKG lib", "back 0"}, "", ""},
		"rollback to where it was wanted": {[]string{"PKG lib", "PKG lib; PKG app", "back 1"}, "lib", ""},
		"an upgrade brings more": {[]string{"PKG grow version=1", "PKG grow version=2", ""}, "",
			"lib is also removed"},
		"removed and back":               {[]string{"PKG app", "", "back 1"}, "app lib(auto)", "lib 1 is installed again"},
		"needs what leaves":              {[]string{"PKG lib; PKG top", ""}, "", "app is also removed"},
		"needs what leaves, rolled back": {[]string{"PKG lib; PKG top", "back 0"}, "", "app is also removed"},
		"needs what leaves, recommended": {[]string{"PKG lib; PKG top", "admin install fan", ""}, "fan",
			"app is also removed"},
		"each needs the other": {[]string{"PKG yin", ""}, "", "yang is also removed"},
		"marked, then back": {[]string{"PKG app", "PKG app; PKG lib", "PKG lib", "back 2"}, "app lib(auto)",
			""},
		"marked, on, then back": {[]string{"PKG app", "PKG lib", "back 1", "back 2"}, "lib",
			"stays: lib: it is in the list"},
		"marked, then undone":     {[]string{"PKG app", "fails PKG lib; EXEC fails false"}, "app lib(auto)", ""},
		"not marked while needed": {[]string{"PKG app; PKG app2", "PKG lib; PKG app2"}, "app2 lib(auto)", ""},
		"the list wants what needs it": {[]string{"PKG app", "admin install app2", "admin auto app2", "PKG app2"},
			"app2(auto) lib(auto)", "stays: lib: needed by app2"},
		"not of fettle, and wanted":    {[]string{"admin install app", "PKG lib; PKG app ensure=absent"}, "lib", ""},
		"there before":                 {[]string{"admin install lib", "PKG app", ""}, "lib", ""},
		"what comes needs what leaves": {[]string{"PKG lib", "PKG app"}, "app lib", "app needs it, so it stays"},
		"what comes back needs it": {[]string{"PKG app", "PKG lib", "back 1"}, "app lib(auto)",
			"app needs it, so it stays"},
		"and is gone at the origin": {[]string{"PKG app", "PKG lib", "back 1", "back 0"}, "", ""},
		"wanted needs what leaves": {[]string{"PKG lib", "PKG lib; PKG app", "PKG app", "PKG app"}, "app lib",
			"app needs it, so it stays"},
		"and then nothing needs it": {[]string{"PKG lib", "PKG lib; PKG app", "PKG app", ""}, "", ""},
		"brought beside a removal":  {[]string{"PKG tool", "PKG app", ""}, "", "lib is also removed"},
		"brought beside an absence": {[]string{"PKG tool", "PKG tool ensure=absent; PKG app", ""}, "",
			"lib is also removed"},
		"brought beside, then back":    {[]string{"PKG tool", "PKG app", "back 1"}, "tool", "lib is also removed"},
		"brought beside, then origin":  {[]string{"PKG tool", "PKG app", "back 0"}, "", "lib is also removed"},
		"one for the other":            {[]string{"PKG app", "PKG app2", ""}, "", "lib is also removed"},
		"one for the other, then back": {[]string{"PKG app", "PKG app2", "back 1", ""}, "", "lib is also removed"},
		"back from what it needs": {[]string{tied1, tied2 + "; PKG plug", "back 1"}, "grow mate",
			"lib is also removed"},
		"on from what it needs":        {[]string{tied1, tied2 + "; PKG plug", tied1}, "grow mate", "lib is also removed"},
		"wanted, marked, and needs it": {[]string{"PKG lib; PKG top", "PKG app"}, "app lib", "app needs it, so it stays"},
		"held, leaves": {[]string{"PKG tool", "admin keep tool", ""}, "tool",
			"an administrator holds it at 1, so it stays"},
		"held, leaves, once more": {[]string{"PKG tool", "admin keep tool", "", ""}, "tool",
			"an administrator holds it at 1, so it stays"},
		"held, leaves, released":   {[]string{"PKG tool", "admin keep tool", "", "admin release tool", ""}, "", ""},
		"held, leaves, comes back": {[]string{"PKG tool", "admin keep tool", "", "PKG tool"}, "tool", ""},
		"held, leaves with what it needs": {[]string{"PKG lib; PKG app", "admin keep app", ""}, "app lib",
			"app needs it, so it stays"},
		"held, leaves, another comes": {[]string{"PKG lib; PKG app", "admin keep app", "PKG tool"}, "app lib tool",
			"app needs it, so it stays"},
		"held, leaves beside another": {[]string{"PKG app; PKG tool", "admin keep tool", ""}, "tool",
			"lib is also removed"},
		"held by fettle, leaves":        {[]string{"PKG tool held=true", ""}, "", ""},
		"held by fettle, not any more":  {[]string{"PKG tool held=true", "PKG tool", ""}, "", ""},
		"held by fettle, rolled back":   {[]string{"GROUP g", "PKG tool held=true", "back 1"}, "", ""},
		"held by fettle, then absent":   {[]string{"PKG tool held=true", "PKG tool ensure=absent"}, "", ""},
		"held by fettle, absent before": {[]string{"PKG tool ensure=absent", "PKG tool held=true", "back 1"}, "", ""},
		"held by fettle, another version": {[]string{"PKG grow version=1", "PKG grow version=2 held=true",
			"PKG grow version=1"}, "grow lib(auto)", ""},
		"held before fettle": {[]string{"admin install tool", "admin keep tool", "PKG tool", ""}, "tool", ""},
		"conflicts": {[]string{"admin install tool", "PKG foe"}, "foe",
			"apt removes tool, which conflicts with it"},
		"conflicts, then leaves": {[]string{"admin install tool", "PKG foe", ""}, "tool",
			"tool 1 is installed again"},
		"conflicts, then back": {[]string{"admin install tool", "PKG foe", "back 0"}, "tool",
			"tool 1 is installed again"},
		"conflicts with what leaves":     {[]string{"PKG tool", "PKG foe"}, "foe", ""},
		"conflicts with what comes back": {[]string{"PKG tool", "PKG foe", "back 1"}, "tool", ""},
		"conflicts, the second of two": {[]string{"admin install tool", "PKG app2; PKG foe"}, "app2 foe lib(auto)",
			"new in the list; apt removes tool, which conflicts with it"},
		"needed at a version": {[]string{"PKG tool; PKG grow version=2", "PKG plug"}, "grow lib(auto) plug",
			"plug needs it, so it stays"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newAlong(t)
			for i, line := range c.lines {
				if i == len(c.lines)-1 && c.shown != "" {
					if got := w.notes(line); !strings.Contains(got, c.shown) {
						t.Errorf("the plan says %q, want %q", got, c.shown)
					}
				}
				w.must(w.does(line))
			}
			if got := w.packages(); got != c.host {
				t.Errorf("installed: %q, want %q", got, c.host)
			}
		})
	}
}

// TestNobodyLosesPackages: a removal that would take along what no step names is refused
// and names it, and everything else of a list without the package is done.
func TestNobodyLosesPackages(t *testing.T) {
	for name, c := range map[string]struct {
		last string
		want error
	}{
		"ensure=absent": {"PKG lib ensure=absent", nil}, "ensure=purged": {"PKG lib ensure=purged", nil},
		"rollback": {"back 0", nil}, "left the list": {"PKG tool", executor.ErrBlocked},
	} {
		t.Run(name, func(t *testing.T) {
			w := newAlong(t)
			w.must(w.does("PKG lib"))
			w.must(w.does("admin install app"))
			err := w.does(c.last)
			if err == nil || c.want != nil && !errors.Is(err, c.want) || c.want == nil && !strings.Contains(err.Error(), "app") {
				t.Errorf("error %v", err)
			}
			if got := w.packages(); !strings.HasPrefix(got, "app lib") {
				t.Errorf("installed: %q", got)
			}
			w.must(w.does("admin remove app"))
			w.must(w.does(""))
			if got := w.packages(); got != "" {
				t.Errorf("afterwards installed: %q", got)
			}
		})
	}
}

// TestDependencyOfAnother: a dependency that needs a removed package stays, together with that
// package, if a package of an administrator depends on it.
func TestDependencyOfAnother(t *testing.T) {
	w := newAlong(t)
	w.must(w.does("PKG lib; PKG top"))
	w.must(w.does("admin install plus"))
	if err := w.does(""); !errors.Is(err, executor.ErrBlocked) {
		t.Errorf("error %v", err)
	}
	if got := w.packages(); got != "app(auto) lib plus" {
		t.Errorf("installed: %q", got)
	}
	w.must(w.does("admin remove plus"))
	w.must(w.does(""))
	if got := w.packages(); got != "" {
		t.Errorf("afterwards installed: %q", got)
	}
}

// TestConflictingPackages: a list cannot want two packages that conflict. Where an earlier
// step may change the versions in apt, only the run can tell.
func TestConflictingPackages(t *testing.T) {
	for name, list := range map[string]string{
		"known before the run":                      "PKG tool; PKG foe",
		"after a step that changes what apt offers": "PKG tool; EXEC e -- /bin/true apt-get update; PKG foe",
	} {
		t.Run(name, func(t *testing.T) {
			w := newAlong(t)
			w.must(w.does("PKG tool"))
			if err := w.does(list); err == nil || !strings.Contains(err.Error(),
				"apt would remove tool, which is also in the list") {
				t.Errorf("error %v", err)
			}
			if got := w.packages(); got != "tool" {
				t.Errorf("installed: %q", got)
			}
		})
	}
}

// TestHeldPackages: what an administrator holds is not changed. A list or a rollback that
// demands a change is refused before the run and says how to go on; a rollback may leave
// the package as it is.
func TestHeldPackages(t *testing.T) {
	for name, c := range map[string]struct {
		lines []string
		last  string
		hint  string
		skips bool // by --skip-blocked
	}{
		"ensure=absent": {[]string{"PKG tool", "admin keep tool"}, "PKG tool ensure=absent", "apt-mark unhold tool.",
			false},
		"ensure=purged": {[]string{"PKG tool", "admin keep tool"}, "PKG tool ensure=purged", "apt-mark unhold tool.",
			false},
		"another version": {[]string{"PKG grow version=1", "admin keep grow"}, "PKG grow version=2", "held = false",
			false},
		"rollback removes it": {[]string{"GROUP g", "PKG tool", "admin keep tool"}, "back 1", "apt-mark unhold tool.", true},
		"rollback changes it": {[]string{"PKG grow version=2", "PKG grow version=1", "admin keep grow"}, "back 1",
			"apt-mark unhold grow", true},
		"to the origin": {[]string{"PKG tool", "admin keep tool"}, "back 0", "apt-mark unhold tool.", true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newAlong(t)
			for _, line := range c.lines {
				w.must(w.does(line))
			}
			before := w.packages()
			err := w.does(c.last)
			if err == nil || !strings.Contains(err.Error(), "holds") || !strings.Contains(err.Error(), c.hint) {
				t.Errorf("error %v, want one with %q", err, c.hint)
			}
			if c.skips {
				_, err := w.x.Rollback(context.Background(), executor.RollbackRequest{To: int(c.last[5] - '0'),
					SkipBlocked: true}, nil, executor.Options{}, nil)
				if !errors.Is(err, executor.ErrBlocked) {
					t.Errorf("with SkipBlocked: %v", err)
				}
			}
			if got := w.packages(); got != before {
				t.Errorf("installed: %q, want %q", got, before)
			}
			w.must(w.does("admin release " + strings.Fields(c.lines[len(c.lines)-1])[2]))
			w.must(w.does(c.last))
		})
	}
}

// Packages that need each other at one version. What else needs one of them at the second
// version must go in the transaction that takes them back to the first.
const (
	tied1 = "PKG grow version=1; PKG mate version=1"
	tied2 = "PKG grow version=2; PKG mate version=2"
)

type alongWorld struct{ *world }

func newAlong(t *testing.T) alongWorld {
	w := newWorld(t)
	repo := w.aside.(*mem.Host).Repository()
	for _, r := range []mem.Release{
		{Name: "lib", Version: "1"}, {Name: "tool", Version: "1"},
		{Name: "app", Version: "1", Depends: []string{"lib"}}, {Name: "app2", Version: "1", Depends: []string{"lib"}},
		{Name: "rec", Version: "1", Recommends: []string{"lib"}},
		{Name: "fan", Version: "1", Recommends: []string{"app"}}, {Name: "plus", Version: "1", Depends: []string{"app"}},
		{Name: "yin", Version: "1", Depends: []string{"yang"}}, {Name: "yang", Version: "1", Depends: []string{"yin"}},
		{Name: "foe", Version: "1", Conflicts: []string{"tool"}},
		{Name: "top", Version: "1", Depends: []string{"app"}},
		{Name: "grow", Version: "1"}, {Name: "grow", Version: "2", Depends: []string{"lib"}},
		{Name: "mate", Version: "1", Depends: []string{"grow (= 1)"}},
		{Name: "mate", Version: "2", Depends: []string{"grow (= 2)"}},
		{Name: "plug", Version: "1", Depends: []string{"grow (= 2)"}},
	} {
		repo.Publish(r)
	}
	return alongWorld{w}
}

func (w alongWorld) does(line string) error {
	f := strings.Fields(line)
	if len(f) == 3 && f[0] == "admin" {
		on, off := true, false
		c := map[string]host.PackageChange{"manual": {Version: "1", Auto: &off}, "auto": {Version: "1", Auto: &on},
			"hold": {Version: "1", Held: &on, Auto: &on}, "keep": {Version: "1", Held: &on},
			"release": {Version: "1", Held: &off}, "install": {}, "remove": {Absent: true}}[f[1]]
		c.Name = f[2]
		_, err := w.aside.(*mem.Host).Repository().Change(context.Background(), []host.PackageChange{c}, nil)
		return err
	}
	if len(f) == 2 && f[0] == "back" {
		_, err := w.x.Rollback(context.Background(), executor.RollbackRequest{To: int(f[1][0] - '0'),
			CrossIrreversible: true}, nil, executor.Options{}, nil)
		return err
	}
	if list, is := strings.CutPrefix(line, "fails "); is {
		o := executor.Options{CrossIrreversible: true, OnFailure: "undo"}
		if _, err := w.x.Apply(context.Background(), request(w.t, steps(list)), nil, o, nil); err == nil {
			return errors.New("the run does not fail")
		}
		return nil
	}
	_, err := w.x.Apply(context.Background(), request(w.t, steps(line)), nil, executor.Options{CrossIrreversible: true},
		nil)
	return err
}

func steps(line string) string {
	if line == "" {
		return ""
	}
	return strings.ReplaceAll(line, "; ", "\n") + "\n"
}

// notes is all that a plan says besides its changes.
func (w alongWorld) notes(line string) string {
	w.t.Helper()
	var p *plan.Plan
	var err error
	if to, is := strings.CutPrefix(line, "back "); is {
		p, err = w.x.PlanRollback(context.Background(), executor.RollbackRequest{To: int(to[0] - '0')})
	} else {
		p, err = w.x.Plan(context.Background(), request(w.t, steps(line)))
	}
	w.must(err)
	var out []string
	for _, c := range p.Changes {
		out = append(out, c.Why, c.Note)
	}
	return strings.Join(out, "; ")
}

// packages are the installed ones, those that are marked as dependencies with a mark.
func (w alongWorld) packages() string {
	w.t.Helper()
	names := []string{"app", "app2", "fan", "foe", "grow", "lib", "mate", "plug", "plus", "rec", "tool", "top", "yang",
		"yin"}
	all, err := w.aside.(*mem.Host).Repository().Installed(context.Background(), names)
	w.must(err)
	var out []string
	for _, n := range names {
		if one := all[n]; one.Version != "" && one.Auto {
			out = append(out, n+"(auto)")
		} else if one.Version != "" {
			out = append(out, n)
		}
	}
	return strings.Join(out, " ")
}
