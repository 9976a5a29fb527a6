package content_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/content"
)

// TestCommitsForOthers: a commit that a trusted key signed for another fleet or purpose is refused,
// for each of its parts.
func TestCommitsForOthers(t *testing.T) {
	const unbound = "does not name its fleet"
	other := content.FleetFile([32]byte{2})
	for name, c := range map[string]struct {
		entries []string // the first in the root directory
		want    string
	}{
		"another project":     {nil, unbound},
		"another fleet":       {[]string{"100644", other, blobID("")}, "is for another fleet"},
		"this fleet":          {[]string{"100644", fleetFile, blobID("")}, ""},
		"with content":        {[]string{"100755", fleetFile, blobID("any")}, ""},
		"both fleets":         {[]string{"100644", fleetFile, blobID(""), "100644", other, blobID("")}, ""},
		"a directory":         {[]string{"40000", fleetFile, objectID("tree", nil)}, unbound},
		"a part of the name":  {[]string{"100644", fleetFile[:len(fleetFile)-1], blobID("")}, "is for another fleet"},
		"the name in capital": {[]string{"100644", "F" + fleetFile[1:], blobID("")}, unbound},
	} {
		w := &world{crafter: newCrafter(t)}
		_, w.webID = treeOf("100644", "m", blobID("web"))
		var modulesID string
		w.modules, modulesID = treeOf("40000", "web", w.webID)
		w.root, w.rootID = treeOf(append(c.entries, "40000", "modules", modulesID)...)
		a := w.of(t, "modules/web")
		a.bundle = raw(file("m", "web"))
		a.recommit(w.crafter.commit(t, w.rootID))
		if err := a.verify(t); c.want != "" || err != nil {
			if c.want == "" {
				t.Errorf("%s: %v", name, err)
				continue
			}
			wantErr(t, err, c.want, "Commit this file", fleetFile)
		}
	}
}

// TestFleetFileElsewhere: the file binds a commit only in the root directory, not in the directory
// of a copied project.
func TestFleetFileElsewhere(t *testing.T) {
	g := newGit(t)
	g.write("vendor/"+fleetFile, "")
	g.write("modules/web/"+fleetFile, "")
	g.write("fettle.hcl", "")
	var line string
	g.key, line = newKey(t, "ed25519")
	for _, part := range []string{content.RootBundle, "modules/web"} {
		a, b, proof := g.pack(g.commit("signed")).part(t, part)
		trust := content.Trust{Signers: signers(t, line), Fleets: []string{fleetFile}, Now: now}
		_, err := content.Verify(proof, b, claim(a), trust)
		wantErr(t, err, "does not name its fleet")
		trust.Fleets = nil
		_, err = content.Verify(proof, b, claim(a), trust)
		wantErr(t, err, "does not name its fleet")
	}
}

// TestMinimumCommitsOfEarlierVersions: entries with the name of a repository count for their part,
// for any current name of the repository, and stay for a downgrade to the earlier version.
func TestMinimumCommitsOfEarlierVersions(t *testing.T) {
	kept := content.MinimumCommits{}
	if err := json.Unmarshal([]byte(`{"site\u0000": 70, "site\u0000modules/web": 50, "renamed\u0000modules/web": 60, "site\u0000modules/web2": 90}`), &kept); err != nil {
		t.Fatal(err)
	}
	before := maps.Clone(kept)
	for part, want := range map[string]int64{"": 70, "modules/web": 60, "modules/web2": 90, "modules/db": 0, "web": 0} {
		if got := kept.Of(part); got != want {
			t.Errorf("the floor of %q is %d, want %d", part, got, want)
		}
	}
	if kept.Record("modules/web", content.Signed{Time: 60}); !maps.Equal(kept, before) {
		t.Errorf("the same time changed something: %v", kept)
	}
	kept.Record("modules/web", content.Signed{Time: 61})
	if kept.Of("modules/web") != 61 || kept["site\x00modules/web"] != 50 || kept.Of("modules/web2") != 90 {
		t.Errorf("a newer commit: %v", kept)
	}
	kept.Record("modules/web", content.Signed{Time: 20, Permit: "ann"})
	if kept.Of("modules/web") != 20 || kept.Of("modules/web2") != 90 || kept.Of("") != 70 {
		t.Errorf("what was permitted: %v", kept)
	}
}

// TestSignerTellsTheFleets: a hub keeps the revision of a part if content and signer are unchanged.
// The signer must therefore change when the commits are for another fleet.
func TestSignerTellsTheFleets(t *testing.T) {
	g := newGit(t)
	g.write("modules/web/module.hcl", "")
	g.key, _ = newKey(t, "ed25519")
	seen := map[string]string{}
	for _, files := range []string{"", fleetFile, content.FleetFile([32]byte{2}), "other"} {
		if files != "" {
			g.write(files, "")
		}
		a, _, proof := g.pack(g.commit("with "+files)).part(t, "modules/web")
		signer := a.Revision.Signer
		if signer != proof.Signer(a.Revision.Commit) {
			t.Errorf("%q is not what the proof says", signer)
		}
		if bound := strings.Contains(signer, " fleet "); bound != strings.HasPrefix(files, "fleet-") && files != "other" {
			t.Errorf("with %q: %q", files, signer)
		}
		seen[signer] = files
	}
	if len(seen) != 3 {
		t.Errorf("want one signer for each set of fleets: %v", seen)
	}
}
