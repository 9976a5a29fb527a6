package content_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/fleet/content"
)

// The key of a permit must be trusted for permits, and now: trust for commits, or at the time of
// the commit, does not suffice.
func TestKeysOfPermits(t *testing.T) {
	g := site(t)
	var commits string
	g.key, commits = newKey(t, "ed25519")
	old := g.commit("old")
	a, b, proof := g.pack(old).part(t, content.RootBundle)
	key, line := newKey(t, "ed25519")
	line = strings.TrimPrefix(line, "ann@example.org ")
	cl := claim(a)
	cl.Permit = sign(t, key, content.PermitNamespace,
		content.Permit{Repository: "site", Commit: old, Targets: []string{"web1"}, Expires: now + 60}.Text())
	for options, want := range map[string]string{
		``:                                   "",
		`namespaces="fettle-rollback"`:       "",
		`namespaces="git,fettle-*"`:          "",
		`valid-after="20231116020000"`:       "",
		`valid-before="20231116020001"`:      "",
		`namespaces="git"`:                   "not for the namespace fettle-rollback",
		`namespaces="fettle-rollback2,file"`: "not for the namespace fettle-rollback",
		`valid-after="20231116020001"`:       "not valid yet on 2023-11-16 02:00:00 UTC",
		`valid-before="20231116020000"`:      "no longer valid on 2023-11-16 02:00:00 UTC",
		`valid-before="20231115"`:            "no longer valid", // it was when the commit was made
	} {
		trust := content.Trust{Signers: signers(t, commits, "eve@example.org "+options+" "+line),
			Fleets: []string{fleetFile}, Now: now, MinimumCommit: g.when + 1}
		s, err := content.Verify(proof, b, cl, trust)
		switch {
		case want != "":
			wantErr(t, err, want)
		case err != nil || s.Permit != "eve@example.org" || s.By != "ann@example.org":
			t.Errorf("%s: %+v, %v", options, s, err)
		}
	}
	// A permit is only needed for older commits, and a key for permits cannot sign commits.
	cl.Permit = ""
	if s, err := content.Verify(proof, b, cl, content.Trust{Signers: signers(t, commits), Fleets: []string{fleetFile},
		Now: now, MinimumCommit: g.when}); err != nil || s.Permit != "" {
		t.Errorf("%+v, %v", s, err)
	}
	g.key = key
	na, nb, nproof := g.pack(g.commit("new")).part(t, content.RootBundle)
	_, err := content.Verify(nproof, nb, claim(na),
		content.Trust{Signers: signers(t, commits, `eve@example.org namespaces="fettle-rollback" `+line),
			Fleets: []string{fleetFile}, Now: now})
	wantErr(t, err, "not for the namespace git")
}

// The minimum time decreases only with a permit, and only for its part. The order of other commits,
// and entries of earlier versions, do not matter.
func TestMinimumCommitsFallWithAPermitOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		floors, want := content.MinimumCommits{}, map[string]int64{}
		parts := rapid.SampledFrom([]string{"", "modules/web", "modules/db"})
		for range rapid.IntRange(0, 4).Draw(t, "earlier") {
			repository, part, at := rapid.SampledFrom([]string{"site", "other"}).Draw(t, "repository"), parts.Draw(t, "part"),
				rapid.Int64Range(1, 9).Draw(t, "time")
			floors[repository+"\x00"+part] = at
			want[part] = 0
			for _, r := range []string{"site", "other"} {
				want[part] = max(want[part], floors[r+"\x00"+part])
			}
		}
		for range rapid.IntRange(1, 12).Draw(t, "length") {
			part, s := parts.Draw(t, "part"), content.Signed{Time: rapid.Int64Range(1, 9).Draw(t, "time")}
			if rapid.Bool().Draw(t, "permitted") {
				s.Permit = "ann"
			}
			if s.Permit != "" || s.Time > want[part] {
				want[part] = s.Time
			}
			floors.Record(part, s)
			for _, p := range []string{"", "modules/web", "modules/db"} {
				if got := floors.Of(p); got != want[p] {
					t.Fatalf("the floor of %q is %d, want %d: %v", p, got, want[p], floors)
				}
			}
		}
	})
}
