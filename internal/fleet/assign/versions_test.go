package assign_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/semver"
)

// VersionsOf combines the uses of all targets by bundle, and leaves out constraints within one bundle.
func TestVersionsOf(t *testing.T) {
	need := func(dir, constraint string) query.Need {
		return query.Need{Name: dir, Directory: dir, Level: "availability", Version: constraint}
	}
	got := assign.VersionsOf([]query.Target{{Name: "empty"},
		{Name: "a", Uses: []query.Use{
			{Directory: "modules/web", Version: "2.0.0", Needs: []query.Need{need("modules/db", ">= 1"), need("modules/x", "")}},
			{Directory: "modules/db/old", Version: "0.9"},
			{Directory: "modules/db", Version: "1.4.0", Needs: []query.Need{need("modules/db/old", "< 1")}},
			{Directory: "modules/x"},
			{Directory: "own", Version: "3.0.0", Needs: []query.Need{need("modules/db", "1.4")}},
		}},
		{Name: "b", Uses: []query.Use{
			{Directory: "modules/web", Version: "2.0.0", Needs: []query.Need{need("modules/mysql", ">= 1"), need("own", "3")}},
		}},
	})
	want := map[string]assign.Versioned{
		"modules/web": {Versions: map[string]string{"modules/web": "2.0.0"}, Requires: []assign.Requirement{
			{By: "modules/web", Module: "modules/db", Version: ">= 1"},
			{By: "modules/web", Module: "modules/mysql", Version: ">= 1"}}},
		"modules/db": {Versions: map[string]string{"modules/db": "1.4.0", "modules/db/old": "0.9"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v, want\n%+v", got, want)
	}
}

// An unknown bundle requires nothing, and fulfills no constraint.
func TestUnmetVersions(t *testing.T) {
	part := func(module, digest string) fleet.Assigned {
		return fleet.Assigned{Module: module, Bundle: fleet.Bundle{Digest: digest}}
	}
	v := assign.Versions{}
	v.Learn(assign.Contents{Bundles: map[string]fleet.Bundle{"modules/web": {Digest: "w"}, "modules/db": {Digest: "d"},
		"modules/x": {Digest: "x"}}, Versions: map[string]assign.Versioned{
		"modules/web": {Requires: []assign.Requirement{{By: "modules/web/a", Module: "modules/db", Version: ">= 1.4"},
			{By: "modules/web", Module: "modules/db/old", Version: "< 1"}}},
		"modules/db": {Versions: map[string]string{"modules/db": "1.4.0"}}}})
	for _, c := range []struct{ first, second, want string }{
		{"w", "d", "web needs modules/db/old < 1, and the content of this module has no version"},
		{"w", "?", "modules/web/a needs db >= 1.4, and the version of the present content is not known"},
		{"?", "d", ""},
	} {
		if got := v.Unmet(part("modules/web", c.first), part("modules/db", c.second)); got != c.want {
			t.Errorf("%s with %s: %q, want %q", c.first, c.second, got, c.want)
		}
	}
	if got := v.Unmet(part("modules/web", "w"), part("modules/x", "x")); got != "" {
		t.Error(got)
	}
}

// TestUnknownVersions: a hub must compile the commits of content that constraints of the head are about, and whose
// versions it does not know.
func TestUnknownVersions(t *testing.T) {
	head := assign.Contents{Bundles: map[string]fleet.Bundle{"modules/web": {Digest: "w2"}, "modules/db": {Digest: "d2"}},
		Versions: map[string]assign.Versioned{"modules/web": {Requires: []assign.Requirement{{By: "modules/web",
			Module: "modules/db/old", Version: ">= 1"}}}, "modules/x": {Versions: map[string]string{"modules/x": "1.0.0"}}}}
	assigned := func(words ...string) (a fleet.Assignment) {
		for _, w := range words {
			f := strings.Fields(w)
			a.Modules = append(a.Modules, fleet.Assigned{Module: "modules/" + f[0], Bundle: fleet.Bundle{Digest: f[1]},
				Revision: fleet.Revision{Commit: f[2]}})
		}
		return a
	}
	retired := assigned("db d0 c9")
	retired.Withdrawn = "the target is retired"
	for name, c := range map[string]struct {
		previous []fleet.Assignment
		want     []string
	}{
		"content of the head":  {[]fleet.Assignment{assigned("web w2 c2", "db d2 c2")}, nil},
		"older content":        {[]fleet.Assignment{assigned("web w1 c1", "db d0 c0")}, []string{"c0", "c1"}},
		"of one commit":        {[]fleet.Assignment{assigned("web w1 c1"), assigned("db d1 c1")}, []string{"c1"}},
		"without a constraint": {[]fleet.Assignment{assigned("x x0 c0")}, nil},
		"nothing, then older":  {[]fleet.Assignment{{}, assigned("db d0 c0")}, []string{"c0"}},
		"retired":              {[]fleet.Assignment{retired}, nil},
	} {
		v := assign.Versions{}
		v.Learn(head)
		previous := map[fleet.TargetID]fleet.Assignment{}
		for i, a := range c.previous {
			previous[idOf(fmt.Sprint(i))] = a
		}
		if got := v.Unknown(head, previous); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
		head := head
		head.Versions = nil
		if got := v.Unknown(head, previous); got != nil {
			t.Errorf("%s, without constraints: %q", name, got)
		}
	}
}

// mix pins a module to another commit with other versions and constraints.
func (h *history) mix() {
	for _, ref := range []string{"main", "fix"} {
		commit := commitOf(fmt.Sprintf("%s %d", ref, h.rev))
		h.w.commits[commit] = revision{top: "1", modules: map[string]module{
			"base": {content: draw(h.t, "base", "1.0", "1.5", "1.9"), selector: "*"},
			"web":  {content: ref, selector: "*", needs: []string{"base:" + draw(h.t, "constraint", ">=1.5", "<2", ">=1")}}}}
		h.fold(assign.Event{Kind: assign.RefEvent, Key: ref, Ref: &assign.Ref{Commit: commit}})
	}
	name := h.name()
	h.target(name, "a")
	h.fold(assign.Event{Kind: assign.PinEvent, Key: name, Pin: &assign.Pin{Key: name, Target: idOf(name),
		Pin: fleet.Pin{Ref: "fix", By: "ann", Module: draw(h.t, "module", "modules/web", "modules/base")}}})
}

// versions: each constraint on a version is fulfilled, also if pins assign modules of different commits.
func (h *history) versions(a fleet.Assignment) {
	contents := map[string]module{}
	for _, m := range a.Modules {
		contents[m.Module] = h.w.commits[m.Revision.Commit].modules[strings.TrimPrefix(m.Module, "modules/")]
	}
	for name, m := range contents {
		for _, r := range m.versioned(name).Requires {
			if _, ok := contents[r.Module]; !ok {
				continue // the commit of the pin does not give web to the target, so its needs are not known
			}
			version := contents[r.Module].versioned(r.Module).Versions[r.Module]
			if !semver.Fulfills(version, r.Version) {
				h.t.Fatalf("%s gets %s, which needs %s %s, with the version %q", a.Name, name, r.Module, r.Version, version)
			}
			if contents[r.Module].content != h.w.commits[a.Root.Revision.Commit].modules["base"].content {
				h.seen.versions++
			}
		}
	}
}

func (h *history) name() string {
	return fmt.Sprintf("t%02d", rapid.IntRange(1, 14).Draw(h.t, "target"))
}

func (h *history) ref() string { return draw(h.t, "ref", "main", "fix", "old") }

// TestVersionsOfEqualModules: modules with equal content have the same digest, and each has its own declarations.
func TestVersionsOfEqualModules(t *testing.T) {
	equal, part := fleet.Bundle{Digest: "equal"}, func(module string, b fleet.Bundle) fleet.Assigned {
		return fleet.Assigned{Module: "modules/" + module, Bundle: b}
	}
	c := assign.Contents{Bundles: map[string]fleet.Bundle{}, Versions: map[string]assign.Versioned{}}
	for _, name := range []string{"a", "b", "c"} {
		c.Bundles["modules/"+name] = equal
		c.Versions["modules/"+name] = assign.Versioned{Versions: map[string]string{"modules/" + name: "2.0.0"},
			Requires: []assign.Requirement{{By: "modules/" + name, Module: "modules/db", Version: "< 3"}}}
	}
	web := fleet.Bundle{Digest: "web"}
	c.Bundles["modules/web"], c.Bundles["modules/db"] = web, fleet.Bundle{Digest: "db"}
	c.Versions["modules/web"] = assign.Versioned{Requires: []assign.Requirement{
		{By: "modules/web", Module: "modules/a", Version: ">= 2"}, {By: "modules/web", Module: "modules/b", Version: ">= 3"}}}
	c.Versions["modules/db"] = assign.Versioned{Versions: map[string]string{"modules/db": "3.0.0"}}
	v := assign.Versions{}
	v.Learn(c)
	for name, want := range map[string]string{"a": "", "c": "",
		"b": "web needs b >= 3, and the content of this module has version 2.0.0"} {
		if got := v.Unmet(part("web", web), part(name, equal)); got != want {
			t.Errorf("web with %s: %q, want %q", name, got, want)
		}
		want = name + " needs db < 3"
		if got := v.Unmet(part(name, equal), part("db", c.Bundles["modules/db"])); !strings.HasPrefix(got, want) {
			t.Errorf("%s with db: %q, want %q", name, got, want)
		}
		if got := v.Need(part(name, equal), "modules/db"); got != want {
			t.Errorf("the need of %s: %q, want %q", name, got, want)
		}
	}
	if got := v.Unmet(part("web", web), part("b", fleet.Bundle{Digest: "db"})); !strings.Contains(got, "is not known") {
		t.Errorf("web with b that has the content of db: %q", got)
	}
}
