package plan

import (
	"slices"
	"testing"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
)

func packageChange(name string, from, to *image.Image) Change {
	return Change{Action: Update, Addr: addr.New(addr.KindPkg, name), Step: "PKG " + name, From: from, To: to}
}

// TestPackagesOfAPlan: which packages come, which are purged and which stay because of a hold.
func TestPackagesOfAPlan(t *testing.T) {
	none, one, two := packageIs("", ""), packageIs("1", "ii"), packageIs("2", "ii")
	gone := &image.Image{Package: &image.Package{Purged: true}}
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
	if got := p.Arriving(); !slices.Equal(got, []string{"new"}) {
		t.Errorf("%v come", got)
	}
	if got := p.Coming(); !slices.Equal(got, []int{1}) {
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
	offers := host.PackageOffers{By: map[string]host.PackageOffer{"aa": {Version: "2"}, "bb": {Version: "2"}}, Along: []string{"x", "y"}}
	p := &Plan{Operation: journal.OpApply, Changes: []Change{packageChange("aa", none, two), packageChange("bb", none, two)}}
	const note = "version 2; with the 2 new packages apt installs 2 dependencies"
	if ds := p.Offered(offers); len(ds) > 0 || p.Changes[0].Note != note || p.Changes[1].Note != "version 2" {
		t.Errorf("%q, %q, %v", p.Changes[0].Note, p.Changes[1].Note, ds)
	}
	offers.By["bb"] = host.PackageOffer{Unknown: "no such package"}
	p.Changes = []Change{packageChange("aa", none, two), packageChange("bb", none, two)}
	if ds := p.Offered(offers); len(ds) != 1 || p.Changes[0].Note != "version 2" {
		t.Errorf("%q, %v", p.Changes[0].Note, ds)
	}
}

// TestLockOutOfOtherKinds: the differences count only for accounts, and each closing package counts.
func TestLockOutOfOtherKinds(t *testing.T) {
	comment := []Difference{{Field: "comment"}}
	for _, name := range []addr.Addr{"pkg:firewalld", "pkg:netplan.io", "pkg:network-manager", "pkg:ufw", "file:/etc/shadow"} {
		if got := LockOut(&Plan{Changes: []Change{{Action: Create, Addr: name, Differences: comment}}}); len(got) != 1 {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := LockOut(&Plan{Changes: []Change{{Action: Update, Addr: "user:ann", Differences: comment}}}); len(got) != 0 {
		t.Errorf("a comment: %v", got)
	}
}
