package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
)

// moves returns the change of a package from one image to another.
func moves(name string, action plan.Action, step, applied string, from, to image.Package) plan.Change {
	return plan.Change{Action: action, Addr: addr.New(addr.KindPkg, name), Step: line(step), Applied: line(applied),
		Source: "fettle.hcl:7",
		From:   new(image.Of(&from)), To: new(image.Of(&to))}
}

func installed(version string) image.Package { return image.Package{Version: version, Status: "ii"} }

// leaving is nginx, which leaves the list; purged is nginx, which the list purges; arriving is nginx, which is new.
func leaving() plan.Change {
	return moves("nginx", plan.Remove, "", "PKG nginx", installed("1"), image.Package{})
}

func purged() plan.Change {
	return moves("nginx", plan.Update, "PKG nginx ensure=purged", "PKG nginx", installed("1"), image.Package{Purged: true})
}

func arriving() plan.Change {
	return moves("nginx", plan.Create, "PKG nginx", "", image.Package{}, installed("2"))
}

// TestWhatIsToldOfPackages: what stays of a package that goes, what its purge deletes, and what goes or stays with it.
func TestWhatIsToldOfPackages(t *testing.T) {
	remains := func(r image.Remains) plan.PackageAnswers {
		return plan.PackageAnswers{Remains: map[string]image.Remains{"nginx": r}}
	}
	files, both := image.Remains{Conffiles: []string{"/etc/a"}},
		image.Remains{Conffiles: []string{"/etc/a"}, Dirs: []string{"/var/a"}}
	with := func(c plan.Change, also map[string]string) plan.Change { c.To.Package().AlsoChanged = also; return c }
	along := func(all map[string]plan.AlongsideChange) plan.PackageAnswers { return plan.PackageAnswers{Along: all} }
	for what, c := range map[string]struct {
		change             plan.Change
		answers            plan.PackageAnswers
		note, irreversible string
	}{
		"nothing stays": {leaving(), remains(image.Remains{}), "", ""},
		"configuration": {leaving(), remains(files),
			`its configuration in /etc/a stays; to delete it: apt-get purge nginx, or ensure = "purged"`, ""},
		"data too": {leaving(), remains(both),
			`its configuration in /etc/a and data in /var/a stay; to delete them: apt-get purge nginx, or ensure = "purged"`,
			""},
		"unread": {leaving(), plan.PackageAnswers{Unknown: "no dpkg"},
			"fettle could not list the files that stay: no dpkg", ""},
		"a purge of nothing": {purged(), remains(image.Remains{}), "", ""},
		"a purge": {purged(), remains(both), "",
			"the purge deletes its configuration in /etc/a and data in /var/a"},
		"a script": {purged(), remains(image.Remains{Purges: true}), "",
			"a script of the package runs at the purge and can delete its data"},
		"a purge, unread": {purged(), plan.PackageAnswers{Unknown: "no dpkg"}, "",
			"the purge deletes its configuration and can delete its data; fettle could not list them: no dpkg"},
		"a purge that was": {func() plan.Change { c := purged(); c.Irreversible = "no .deb"; return c }(), remains(files),
			"", "the purge deletes its configuration in /etc/a; no .deb"},
		"it was purged": {func() plan.Change { c := arriving(); c.Applied = line("PKG nginx ensure=purged"); return c }(),
			remains(files), "it was purged: its earlier configuration and data cannot be restored", ""},
		"it is new": {arriving(), remains(files), "", ""},
		"it was never installed": {moves("nginx", plan.Remove, "", "PKG nginx", image.Package{}, image.Package{}),
			remains(files), "", ""},
		"another version": {moves("nginx", plan.Update, "PKG nginx", "PKG nginx", installed("1"), installed("2")),
			remains(files), "", ""},
		"goes along": {with(leaving(), map[string]string{"lib": ""}),
			along(map[string]plan.AlongsideChange{"lib": {Version: "1"}}), "lib is also removed", ""},
		"comes back": {with(arriving(), map[string]string{"lib": "3"}),
			along(map[string]plan.AlongsideChange{"lib": {}}), "lib 3 is installed again", ""},
		"goes back": {with(leaving(), map[string]string{"lib": "3"}),
			along(map[string]plan.AlongsideChange{"lib": {Version: "4"}}), "lib is restored from 4 to 3", ""},
		"of another": {leaving(), along(map[string]plan.AlongsideChange{"lib": {Version: "1", Other: true}}),
			"lib is also removed", ""},
		"of another, new": {arriving(), along(map[string]plan.AlongsideChange{"lib": {Version: "1", Other: true}}), "", ""},
		"not of it":       {leaving(), along(map[string]plan.AlongsideChange{"lib": {Version: "1"}}), "", ""},
		"stays": {with(leaving(), map[string]string{"a": "", "b": "", "c": ""}),
			along(map[string]plan.AlongsideChange{"a": {StayReason: "x needs them"}, "b": {StayReason: "x needs them"},
				"c": {Version: "1"}}), "c is also removed; stays: a, b: x needs them", ""},
	} {
		p := &plan.Plan{Operation: journal.OpApply, Changes: []plan.Change{c.change}}
		if problems := p.AddPackageAnswers(c.answers); len(problems) > 0 || p.Changes[0].Note != c.note ||
			p.Changes[0].Irreversible != c.irreversible {
			t.Errorf("%s: %q, %q: %v", what, p.Changes[0].Note, p.Changes[0].Irreversible, problems)
		}
	}
	p := &plan.Plan{Changes: []plan.Change{with(leaving(), map[string]string{"lib": ""}),
		with(leaving(), map[string]string{"lib": ""})}}
	both2 := along(map[string]plan.AlongsideChange{"lib": {Version: "1"}})
	both2.Remains = map[string]image.Remains{"lib": files}
	if p.AddPackageAnswers(both2); p.Changes[0].Note != "lib is also removed, the configuration in /etc/a of lib stays" ||
		p.Changes[1].Note != "" {
		t.Errorf("%q, %q", p.Changes[0].Note, p.Changes[1].Note)
	}
}

// TestPackagesThatOthersNeed: a package that wanted packages need stays and is no error; one that others need is refused,
// if a step or a rollback demands its absence.
func TestPackagesThatOthersNeed(t *testing.T) {
	for what, c := range map[string]struct {
		change  plan.Change
		op      journal.Operation
		by      []string
		skip    bool
		refused bool
		blocked bool
		why     string
	}{
		"by nobody": {leaving(), journal.OpApply, nil, false, false, false, ""},
		"by a wanted one": {leaving(), journal.OpApply, []string{"wanted"}, false, false, true,
			"wanted needs it, so it stays until no package needs it"},
		"by two wanted": {leaving(), journal.OpApply, []string{"wanted", "wanted2"}, false, false, true,
			"wanted, wanted2 need it, so it stays"},
		"by an unwanted one": {leaving(), journal.OpApply, []string{"other"}, false, false, true,
			"apt would also remove other, which needs it and which this plan does not remove"},
		"by one of each": {leaving(), journal.OpApply, []string{"wanted", "other"}, false, false, true,
			"apt would also remove wanted, other, which need it"},
		"a step, wanted": {purged(), journal.OpApply, []string{"wanted"}, false, true, false, "remove wanted first"},
		"a step":         {purged(), journal.OpApply, []string{"other"}, false, true, false, "remove other first"},
		"a rollback":     {leaving(), journal.OpRollback, []string{"other"}, false, true, false, "remove other first"},
		"a rollback, skipping": {leaving(), journal.OpRollback, []string{"other"}, true, false, true,
			"it cannot be restored now"},
		"a rollback, wanted": {leaving(), journal.OpRollback, []string{"wanted"}, false, false, true, "so it stays"},
		"a step, skipping":   {purged(), journal.OpApply, []string{"other"}, true, true, false, "remove other first"},
	} {
		p := &plan.Plan{Operation: c.op, Changes: []plan.Change{c.change}}
		problems := p.AddPackageAnswers(plan.PackageAnswers{Needed: map[string][]string{"nginx": c.by}, SkipBlocked: c.skip,
			Claimed: func(n string) bool { return strings.HasPrefix(n, "wanted") }})
		got := p.Changes[0]
		said := got.Why + fmt.Sprint(problems.Err())
		if (len(problems) > 0) != c.refused || (got.Action == plan.Blocked) != c.blocked || !strings.Contains(said, c.why) {
			t.Errorf("%s: %s, %s, %v", what, got.Action, got.Why, problems.Err())
		}
		stuck := c.blocked && strings.Contains(got.Why, "apt would also remove")
		if got.NeedsOperator() != stuck || (len(p.NeedingOperator()) > 0) != stuck || c.blocked &&
			(got.From != nil || got.To != nil) {
			t.Errorf("%s: stuck %t, %+v", what, got.NeedsOperator(), got)
		}
		if c.refused && (problems[0].Range.Start.Line != 7 || problems[0].Line == "") {
			t.Errorf("%s: %+v", what, problems[0])
		}
	}
}
