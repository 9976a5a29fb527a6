package plan_test

import (
	"slices"
	"testing"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
)

// TestOfferedPackages: the version, the dependencies and the size of what comes; unknown packages are refused, unless an
// earlier step may change the versions in apt.
func TestOfferedPackages(t *testing.T) {
	source := plan.Change{Action: plan.Create, Addr: "file:/etc/apt/sources.list.d/x.list",
		Step: line("COPY x /etc/apt/sources.list.d/x.list")}
	update := plan.Change{Action: plan.Run, Addr: "exec:lists", Step: line("EXEC lists /usr/bin/apt-get update")}
	seen := source
	seen.Action = plan.Adopt
	offer := func(o host.PackageOffer) host.PackageOffers {
		return host.PackageOffers{By: map[string]host.PackageOffer{"nginx": o}}
	}
	large := offer(host.PackageOffer{Version: "2"})
	large.Additional, large.Download = []string{"a", "b"}, 2_500_000
	one := offer(host.PackageOffer{Version: "2"})
	one.Additional, one.Download = []string{"a"}, 999
	fails := offer(host.PackageOffer{Version: "2"})
	fails.Failure = "broken"
	sized := func(n int64) host.PackageOffers {
		o := offer(host.PackageOffer{Version: "2"})
		o.Download = n
		return o
	}
	bare := offer(host.PackageOffer{Unknown: "no such package"})
	bare.NoLists = true
	for what, c := range map[string]struct {
		before  []plan.Change
		offers  host.PackageOffers
		note    string
		refused bool
	}{
		"known":       {nil, offer(host.PackageOffer{Version: "2"}), "version 2", false},
		"with others": {nil, large, "version 2; with it apt installs 2 dependencies, to download: 2.5 MB", false},
		"with one":    {nil, one, "version 2; with it apt installs 1 dependency, to download: 999 B", false},
		"failing":     {nil, fails, "version 2; apt cannot install it now: broken", false},
		"large":       {nil, sized(2_500_000_000), "version 2; to download: 2.5 GB", false},
		"huge":        {nil, sized(2_500_000_000_000), "version 2; to download: 2500.0 GB", false},
		"small":       {nil, sized(1000), "version 2; to download: 1.0 kB", false},
		"unknown":     {nil, offer(host.PackageOffer{Unknown: "no such package"}), "", true},
		"without lists": {nil, bare,
			"the version is known after apply: apt has no package lists on this host; " +
				"without a step that fetches them, run apt-get update there first", false},
		"after a source": {[]plan.Change{source}, offer(host.PackageOffer{Unknown: "x"}),
			"the version is known after apply: file:/etc/apt/sources.list.d/x.list may change the versions in apt", false},
		"after update": {[]plan.Change{update}, offer(host.PackageOffer{Unknown: "x"}),
			"the version is known after apply: exec:lists may change the versions in apt", false},
		"as it was": {[]plan.Change{seen}, offer(host.PackageOffer{Unknown: "no such package"}), "", true},
		"not asked": {nil, host.PackageOffers{}, "", false},
	} {
		p := &plan.Plan{Operation: journal.OpApply, Changes: append(slices.Clone(c.before), arriving())}
		problems := p.AddOffers(c.offers)
		if got := p.Changes[len(c.before)].Note; got != c.note || (len(problems) > 0) != c.refused {
			t.Errorf("%s: %q, %v", what, got, problems.Err())
		}
	}
	p := &plan.Plan{Operation: journal.OpApply, Changes: []plan.Change{leaving(), arriving(), source, arriving()}}
	if got := p.OfferIndexes(); !slices.Equal(got, []int{1}) {
		t.Errorf("changes %v need apt", got)
	}
	p.Operation = journal.OpRollback
	if got := p.OfferIndexes(); got != nil {
		t.Errorf("in a rollback changes %v need apt", got)
	}
	p.Changes = append(p.Changes, purged())
	if got := p.PackagesRemoved(); !slices.Equal(got, []string{"nginx", "nginx"}) || len(p.Purges()) != 0 {
		t.Errorf("%q go, %v", got, p.Purges())
	}
	p.Changes[4].Irreversible = "the purge deletes data"
	p.Changes[0].Irreversible = "no .deb"
	if got := p.Purges(); len(got) != 1 || !got[0].To.Package().Purged {
		t.Errorf("%v", got)
	}
}
