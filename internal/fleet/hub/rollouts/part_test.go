package rollouts

import (
	"encoding/json"
	"maps"
	"testing"

	"fettle.dev/fettle/internal/exported"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/rollout"
)

// TestSameContent: two parts have the same content if, and only if, they have the same digest.
func TestSameContent(t *testing.T) {
	part := func(change func(*fleet.Assigned)) fleet.Assigned {
		p := fleet.Assigned{Module: "modules/web", Bundle: fleet.Bundle{Digest: "d"},
			Revision: fleet.Revision{Repository: "r", Branch: "b", Signer: "s", Commit: "c", Time: 1, Subject: "x"},
			Needs:    []fleet.Need{{Module: "db", Level: fleet.Available}, {Module: "dns", Level: fleet.Available}}}
		change(&p)
		return p
	}
	same := part(func(*fleet.Assigned) {})
	for name, c := range map[string]struct {
		want   bool
		change func(*fleet.Assigned)
	}{
		"nothing":    {true, func(*fleet.Assigned) {}},
		"commit":     {true, func(p *fleet.Assigned) { p.Revision.Commit = "c2" }},
		"time":       {true, func(p *fleet.Assigned) { p.Revision.Time, p.Revision.Subject = 2, "y" }},
		"bundle":     {false, func(p *fleet.Assigned) { p.Bundle.Digest = "d2" }},
		"repository": {false, func(p *fleet.Assigned) { p.Revision.Repository = "r2" }},
		"branch":     {false, func(p *fleet.Assigned) { p.Revision.Branch = "b2" }},
		"signer":     {false, func(p *fleet.Assigned) { p.Revision.Signer = "s2" }},
		"need":       {false, func(p *fleet.Assigned) { p.Needs[1].Module = "ntp" }},
		"level":      {false, func(p *fleet.Assigned) { p.Needs[0].Level = fleet.Exact }},
		"fewer":      {false, func(p *fleet.Assigned) { p.Needs = p.Needs[:1] }},
	} {
		other := part(c.change)
		for what, is := range map[string]bool{"content": sameContent(same, other), "reverse": sameContent(other, same),
			"digest": digest(same) == digest(other)} {
			if is != c.want {
				t.Errorf("another %s: %s is equal: %v", name, what, is)
			}
		}
	}
}

// TestUnion: a table for each output, with the values of the first list if both have it.
func TestUnion(t *testing.T) {
	table := func(module, output, typ string) exported.Table {
		return exported.Table{Module: module, Output: output, Type: json.RawMessage(typ)}
	}
	got := ""
	for _, x := range union([]exported.Table{table("web", "b", "1"), table("db", "a", "1")},
		[]exported.Table{table("web", "b", "2"), table("web", "a", "2"), table("db", "b", "2")}) {
		got += x.Module + "." + x.Output + "=" + string(x.Type) + " "
	}
	if want := "db.a=1 db.b=2 web.a=2 web.b=1 "; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestContentDigests: a hub keeps the bundles and the proofs of the content in the log.
func TestContentDigests(t *testing.T) {
	l := hubOf(t, bustest.NewStore())
	begun(t, l, "r1", map[rollout.Change]fleet.Assigned{{Digest: "a"}: {Bundle: fleet.Bundle{Digest: "bundle a"}},
		{Digest: "b"}: {Bundle: fleet.Bundle{Digest: "bundle b"}, Proof: &fleet.Bundle{Digest: "proof b"}}})
	want := map[string]bool{"bundle a": true, "bundle b": true, "proof b": true}
	if got := l.ContentDigests(); !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
}
