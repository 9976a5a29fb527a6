package plan

import (
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
)

func packageChange(name string, from, to *image.Image) Change {
	return Change{Action: Update, Addr: addr.New(addr.KindPkg, name), Step: parse("PKG " + name), From: from, To: to}
}

// TestPackagesOfAPlan: which packages come, which are purged and which stay because of a hold.
func TestPackagesOfAPlan(t *testing.T) {
	none, one, two := packageIs("", ""), packageIs("1", "ii"), packageIs("2", "ii")
	gone := new(image.Of(&image.Package{Purged: true}))
	source := Change{Action: Update, Addr: "file:/etc/apt/sources.list"}
	idle := Change{Action: Adopt, Addr: "file:/etc/apt/sources.list"}
	purge := packageChange("gone", one, gone)
	purge.Irreversible = "data"
	blockedPurge := Change{Action: Blocked, Addr: "pkg:kept", Held: true, To: gone, Irreversible: "data"}
	file := Change{Action: Update, Addr: "file:/f", From: one, To: gone, Irreversible: "no"}
	p := &Plan{Operation: journal.OpApply, Changes: []Change{
		idle, packageChange("new", none, two), packageChange("same", one, one), purge, blockedPurge, file,
		{Action: Blocked, Addr: "pkg:needed", Needed: []string{"x"}}, {Action: Update, Addr: "pkg:odd", Held: true}}}
	p.Changes = append(p.Changes, source, packageChange("unknown", none, two))
	if got := p.PackagesInstalled(); !slices.Equal(got, []string{"new"}) {
		t.Errorf("%v come", got)
	}
	if got := p.OfferIndexes(); !slices.Equal(got, []int{1}) {
		t.Errorf("apt must have %v", got)
	}
	if got := p.Purges(); len(got) != 1 || got[0].Addr != "pkg:gone" {
		t.Errorf("purges: %v", got)
	}
	if got := p.heldBack(); len(got) != 1 || !got["kept"] {
		t.Errorf("held back: %v", got)
	}
	if got := p.sourceOf(len(p.Changes) - 1); got != source.Addr {
		t.Errorf("the source of the last package: %q", got)
	}
}

// TestOfferedTogether: with several packages, the first one says how many come; with an error, none does.
func TestOfferedTogether(t *testing.T) {
	none, two := packageIs("", ""), packageIs("2", "ii")
	offers := host.PackageOffers{By: map[string]host.PackageOffer{"aa": {Version: "2"}, "bb": {Version: "2"}},
		Additional: []string{"x", "y"}}
	p := &Plan{Operation: journal.OpApply, Changes: []Change{packageChange("aa", none, two),
		packageChange("bb", none, two)}}
	const note = "version 2; with the 2 new packages apt installs 2 dependencies"
	if ds := p.AddOffers(offers); len(ds) > 0 || p.Changes[0].Note != note || p.Changes[1].Note != "version 2" {
		t.Errorf("%q, %q, %v", p.Changes[0].Note, p.Changes[1].Note, ds)
	}
	offers.By["bb"] = host.PackageOffer{Unknown: "no such package"}
	p.Changes = []Change{packageChange("aa", none, two), packageChange("bb", none, two)}
	if ds := p.AddOffers(offers); len(ds) != 1 || p.Changes[0].Note != "version 2" {
		t.Errorf("%q, %v", p.Changes[0].Note, ds)
	}
}

// TestLockOutOfOtherKinds: the differences count only for accounts, and each closing package counts.
func TestLockOutOfOtherKinds(t *testing.T) {
	comment := []image.Difference{{Field: "comment"}}
	for _, name := range []addr.Addr{"pkg:firewalld", "pkg:netplan.io", "pkg:network-manager", "pkg:ufw",
		"file:/etc/shadow"} {
		if got := LockOut(&Plan{Changes: []Change{{Action: Create, Addr: name, Differences: comment}}}); len(got) != 1 {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := LockOut(&Plan{Changes: []Change{{Action: Update, Addr: "user:ann", Differences: comment}}}); len(got) != 0 {
		t.Errorf("a comment: %v", got)
	}
}

// TestDisplaces: what apt removes for a package is noted, and whether it comes back.
func TestDisplaces(t *testing.T) {
	none, two := packageIs("", ""), packageIs("2", "ii")
	const lost = "apt removes old, which conflicts with it"
	const comesBack = lost + "; a rollback of this run installs it again"
	for what, c := range map[string]struct {
		displaced          Displaced
		note, irreversible string
		refused            bool
	}{
		"it comes back":     {Displaced{By: "web", Name: "old"}, comesBack, "", false},
		"it is lost":        {Displaced{By: "web", Name: "old", Lost: true}, lost, "the .deb of old", false},
		"of another":        {Displaced{By: "other", Name: "old"}, "", "", false},
		"the list wants it": {Displaced{By: "web", Name: "wanted"}, "", "", true},
	} {
		all := []Displaced{{By: "nobody", Name: "x"}, c.displaced}
		p := &Plan{Operation: journal.OpApply, Changes: []Change{{Action: Update, Addr: "file:/web"},
			packageChange("web", none, two)}}
		ds := p.AddDisplaced(all, func(name string) bool { return name == "wanted" })
		got := p.Changes[1]
		told := strings.Contains(got.Irreversible, c.irreversible) && (got.Irreversible != "") == (c.irreversible != "")
		if got.Note != c.note || !told || ds.HasErrors() != c.refused {
			t.Errorf("%s: %q, %q, %v", what, got.Note, got.Irreversible, ds)
		}
		if p.Changes[0].Note != "" {
			t.Errorf("%s: a file has the note %q", what, p.Changes[0].Note)
		}
	}
}

// TestPackageChange: only a change from one known image of a package to another is one.
func TestPackageChange(t *testing.T) {
	none, two := packageIs("", ""), packageIs("2", "ii")
	for what, c := range map[string]struct {
		change Change
		want   bool
	}{
		"a package":            {packageChange("web", none, two), true},
		"unknown later":        {packageChange("web", none, nil), false},
		"unknown before":       {packageChange("web", nil, two), false},
		"a file before":        {packageChange("web", pathOf(image.Regular), two), false},
		"a file later":         {packageChange("web", two, pathOf(image.Regular)), false},
		"nothing changes":      {Change{Action: Adopt, Addr: "pkg:web", From: none, To: two}, false},
		"something of a name":  {Change{Action: Update, Addr: "unit:web", From: none, To: two}, false},
		"a package that leads": {Change{Action: Remove, Addr: "pkg:web", From: two, To: none}, true},
	} {
		if got := c.change.packageChange(); got != c.want {
			t.Errorf("%s: %t", what, got)
		}
	}
	fetch := Change{Action: Run, Addr: "act:run/lists"}
	other := Change{Action: Update, Addr: "unit:lists.service", Step: parse(`EDIT /x line="apt update"`)}
	for _, command := range []string{"ACT run lists apt-get update on=file:/x", "ACT run lists apt update on=file:/x"} {
		fetch.Step = parse(command)
		p := &Plan{Changes: []Change{other, packageChange("web", none, two), fetch, packageChange("web", none, two)}}
		if first, second := p.sourceOf(1), p.sourceOf(3); first != "" || second != fetch.Addr {
			t.Errorf("%s: the sources are %q and %q", command, first, second)
		}
	}
}
