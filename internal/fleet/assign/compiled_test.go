package assign_test

import (
	"encoding/json"
	"io"
	"maps"
	"reflect"
	"slices"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/repo"
)

// compiledSite is a repository with two modules, of which web1 and web2 have both.
func compiledSite() (repo.Tree, []query.Target, []query.Strategy) {
	web := []query.Use{{Directory: "modules/web", Version: "1.2.0",
		Needs: []query.Need{{Name: "db", Directory: "modules/db", Level: "availability", Version: ">= 2"}}},
		{Directory: "modules/db", Version: "2.0.0"}}
	return repo.MapTree(map[string]string{"fettle.hcl": "", "modules/web/module.hcl": "", "modules/db/a.hcl": "x"}),
		[]query.Target{{Name: "web2", Uses: web}, {Name: "db1", Uses: web[1:]}, {Name: "web1", Uses: web}},
		[]query.Strategy{{Name: "slow"}}
}

// TestCompile: a hub that reads a compiled repository gets the same contents as a hub that reads the commit.
func TestCompile(t *testing.T) {
	tree, targets, strategies := compiledSite()
	compiled, err := assign.Compile(tree, targets, strategies)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(compiled)
	if err != nil {
		t.Fatal(err)
	}
	var read assign.Compiled
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	var names [][]string
	for _, a := range read.Targets {
		names = append(names, a.Names)
	}
	if !reflect.DeepEqual(names, [][]string{{"db1"}, {"web1", "web2"}}) {
		t.Errorf("targets with the same configuration are not combined: %q", names)
	}
	want := assign.Contents{Revision: fleet.Revision{Commit: "c1"}, Targets: assign.TargetsOf(targets),
		Bundles: map[string]fleet.Bundle{}, Versions: assign.VersionsOf(targets), Strategies: strategies}
	enrolled := []fleet.Target{{ID: idOf("web1"), Name: "web1", Standing: fleet.Active}}
	want.Enrolled = assign.EnrolledDigest(enrolled)
	for _, part := range []string{"", "modules/db", "modules/web"} {
		b, err := content.Pack(io.Discard, tree, part)
		if err != nil {
			t.Fatal(err)
		}
		if want.Bundles[part] = b; part == "" {
			want.Root = b
			delete(want.Bundles, part)
		}
	}
	got := read.Contents(want.Revision, enrolled)
	if !reflect.DeepEqual(asJSON(t, got), asJSON(t, want)) {
		t.Errorf("%s\nwant\n%s", asJSON(t, got), asJSON(t, want))
	}
	if web1, web2 := got.Targets["web1"].Modules, got.Targets["web2"].Modules; &web1[0] != &web2[0] {
		t.Error("targets with the same configuration do not share it")
	}
}

// asJSON returns a text, in which nil and empty lists of targets are the same.
func asJSON(t *testing.T, c assign.Contents) string {
	t.Helper()
	text, err := json.MarshalIndent(c, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestCompileOfABadTree: a repository that cannot be packed is an error.
func TestCompileOfABadTree(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"no directory": {"modules": "a file"},
		"equal names":  {"modules/web/a.hcl": "", "modules/web/A.hcl": ""},
	} {
		if _, err := assign.Compile(repo.MapTree(files), nil, nil); err == nil {
			t.Errorf("%s: it is packed", name)
		}
	}
}

// TestLastSigner: the signer of the newest root bundle, whatever the order of the targets is.
func TestLastSigner(t *testing.T) {
	at := func(time int64, signer string) fleet.Assignment {
		return fleet.Assignment{Root: fleet.Assigned{Revision: fleet.Revision{Time: time, Signer: signer}}}
	}
	withdrawn := at(9, "eve")
	withdrawn.Withdrawn = "the target is revoked"
	for want, list := range map[string][]fleet.Assignment{"": nil, "ann": {at(1, "bob"), at(3, "ann"), at(2, "eve")},
		"bob": {at(3, "bob"), withdrawn}, "eve": {at(3, "eve"), at(3, "ann"), at(3, "")}} {
		for range 5 { // the order of a map is random
			all := map[fleet.TargetID]fleet.Assignment{}
			for i, a := range list {
				all[fleet.TargetID(rune('a'+i))] = a
			}
			if got := assign.LastSigner(all); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
	}
}

// TestDigestsOfRevisions: a hub keeps the bundles and the proofs of the commits of the last computation.
func TestDigestsOfRevisions(t *testing.T) {
	in := assign.Input{Revisions: map[string]assign.Contents{
		"c1": {Root: fleet.Bundle{Digest: "root 1"}, Bundles: map[string]fleet.Bundle{"modules/web": {Digest: "web 1"}}},
		"c2": {Root: fleet.Bundle{Digest: "root 2"}, Proofs: map[string]fleet.Bundle{"": {Digest: "proof of root 2"}}}}}
	got := slices.Sorted(maps.Keys(assign.Compute(in).ContentDigests()))
	if want := []string{"proof of root 2", "root 1", "root 2", "web 1"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
