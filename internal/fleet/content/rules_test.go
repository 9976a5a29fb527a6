package content

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/repo"
)

// TestPermitIsForOneClaim: each field of a permit alone can refuse it, and one matching target is
// enough.
func TestPermitIsForOneClaim(t *testing.T) {
	permit := Permit{Repository: "site", Commit: "c1", Targets: []string{"db*", "label:role=web"}, Expires: 100}
	claim := Claim{Repository: "site", Commit: "c1", Target: "web1", Labels: map[string]string{"role": "web"}}
	for name, c := range map[string]struct {
		change func(p *Permit, c *Claim, now *int64)
		says   string
	}{
		"good":            {func(*Permit, *Claim, *int64) {}, ""},
		"by name":         {func(_ *Permit, c *Claim, _ *int64) { c.Target, c.Labels = "db7", nil }, ""},
		"a second before": {func(_ *Permit, _ *Claim, now *int64) { *now = 99 }, ""},
		"at its end": {func(_ *Permit, _ *Claim, now *int64) { *now = 100 },
			"valid only until 1970-01-01 00:01:40 UTC"},
		"another repository": {func(p *Permit, _ *Claim, _ *int64) { p.Repository = "x" }, `for the repository "x"`},
		"another commit":     {func(p *Permit, _ *Claim, _ *int64) { p.Commit = "c2" }, `for the commit "c2"`},
		"another label": {func(_ *Permit, c *Claim, _ *int64) { c.Labels = map[string]string{"role": "db"} },
			"not for this target"},
		"no label":   {func(_ *Permit, c *Claim, _ *int64) { c.Labels = nil }, "not for this target"},
		"no targets": {func(p *Permit, _ *Claim, _ *int64) { p.Targets = nil }, "not for this target"},
		"a broken pattern": {func(p *Permit, c *Claim, _ *int64) { p.Targets, c.Target = []string{"web1["}, "web1[" },
			"not for this target"},
		"a label's name": {func(p *Permit, c *Claim, _ *int64) {
			p.Targets, c.Labels = []string{"label:role"}, map[string]string{"role": ""}
		}, "not for this target"},
		"an empty label": {func(p *Permit, _ *Claim, _ *int64) { p.Targets = []string{"label:x="} }, "not for this target"},
	} {
		p, claim, now := permit, claim, int64(50)
		c.change(&p, &claim, &now)
		if why := p.refuses(claim, Trust{Now: now}); (why == "") != (c.says == "") || !strings.Contains(why, c.says) {
			t.Errorf("%s: %q", name, why)
		}
		if err := p.For(claim.Repository, claim.Commit, claim.Target, claim.Labels, now); (err == nil) != (c.says == "") ||
			err != nil && !strings.Contains(err.Error(), "cannot move "+claim.Target+" to an older commit") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBundlesHaveBounds: the limits of number, sizes and order of a bundle's entries.
func TestBundlesHaveBounds(t *testing.T) {
	f := func(path string, size int64) repo.Item { return repo.Item{Path: path, Size: size} }
	many := func(n int) (out []repo.Item) {
		for i := range n {
			out = append(out, f(fmt.Sprintf("%06d", i), 0))
		}
		return out
	}
	large := []repo.Item{f("a", MaxFile), f("b", MaxFile), f("c", MaxFile), f("d", MaxFile), f("e", MaxFile),
		f("f", MaxFile), f("g", MaxFile)}
	for name, c := range map[string]struct {
		items []repo.Item
		index int64
		says  string
	}{
		"none":             {nil, 0, ""},
		"as many":          {many(50_000), 0, ""},
		"too many":         {many(50_001), 0, "the maximum is 50000"},
		"a full index":     {nil, 16 << 20, ""},
		"too long names":   {nil, 16<<20 + 1, "its names are too long"},
		"not in order":     {[]repo.Item{f("b", 0), f("a", 0)}, 0, "in the order of paths"},
		"twice":            {[]repo.Item{f("a", 0), f("a", 0)}, 0, "in the order of paths"},
		"a large file":     {[]repo.Item{f("a", 256<<20)}, 0, ""},
		"a larger file":    {[]repo.Item{f("a", 256<<20+1)}, 0, "larger than 256 MiB"},
		"a negative size":  {[]repo.Item{f("a", -1)}, 0, "larger than 256 MiB"},
		"full":             {append(slices.Clone(large), f("h", MaxFile-9)), 9, ""},
		"more than full":   {append(slices.Clone(large), f("h", MaxFile-9)), 10, "more than 2048 MiB in total"},
		"case":             {[]repo.Item{f("A", 0), f("a", 0)}, 0, "differ only in case"},
		"case of a parent": {[]repo.Item{f("A/x", 0), f("a/y", 0)}, 0, "differ only in case"},
		"one parent":       {[]repo.Item{f("a/x", 0), f("a/y", 0)}, 0, ""},
	} {
		if err := checkItems(c.items, c.index); (err == nil) != (c.says == "") || err != nil &&
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	digest := "sha256:" + strings.Repeat("0", 64)
	for name, c := range map[string]struct {
		it   repo.Item
		good bool
	}{
		"a long path":   {repo.Item{Path: strings.Repeat("a", 4095), Digest: digest}, true},
		"a longer path": {repo.Item{Path: strings.Repeat("a", 4096), Digest: digest}, false},
		"a long link":   {repo.Item{Path: "a", Type: repo.Symlink, Target: strings.Repeat("a", 4095)}, true},
		"a longer link": {repo.Item{Path: "a", Type: repo.Symlink, Target: strings.Repeat("a", 4096)}, false},
		"no digest":     {repo.Item{Path: "a"}, false},
		"short digest":  {repo.Item{Path: "a", Digest: "sha256:00"}, false},
	} {
		if _, err := appendIndex(nil, []repo.Item{c.it}); (err == nil) != c.good {
			t.Errorf("%s: %v", name, err)
		}
	}
	for dir, part := range map[string]string{".": "", "files": "", "modules": "", "modules/web": "modules/web",
		"modules/web/files": "modules/web", "x/modules/web": "", "modulesx/web": "", "./modules/web/": "modules/web"} {
		if got := PartOf(dir); got != part {
			t.Errorf("%s is of %q", dir, got)
		}
	}
}
