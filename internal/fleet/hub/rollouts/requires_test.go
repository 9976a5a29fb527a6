package rollouts

import (
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/rollout"
)

// versioned lets the contents of the modules db and web of a site have versions: w3 and w4 need db >= 2, and w1 needs
// db < 2; d2 and d3 have the version 2.
func (s *site) versioned() {
	v := assign.Versions{}
	learn := func(part, content, version string, needs ...string) {
		one := assign.Versioned{}
		if version != "" {
			one.Versions = map[string]string{"modules/" + part: version}
		}
		for _, n := range needs {
			one.Requires = append(one.Requires, assign.Requirement{By: "modules/" + part, Module: "modules/db", Version: n})
		}
		a, _ := find(assignment("modules/"+part+"="+content+"@c1"), "modules/"+part)
		v[assign.VersionsKey{Module: "modules/" + part, Digest: a.Bundle.Digest}] = one
	}
	learn("db", "d1", "1.0.0")
	learn("db", "d2", "2.0.0")
	learn("db", "d3", "2.1.0")
	learn("web", "w1", "", "< 2")
	learn("web", "w2", "")
	learn("web", "w3", "", ">= 2")
	s.head.Versions = v
}

// TestTurnsVersions: a change waits while the content that it needs is held, and modules that need each other change
// together. No target ever has modules that do not fit each other.
func TestTurnsVersions(t *testing.T) {
	s := newSite(t, hubOf(t, bustest.NewStore()))
	s.versioned()
	turns := func(head string, n int) {
		for range n {
			s.turn(head)
			for _, got := range s.contents() {
				if strings.Contains(got, "d1") && strings.Contains(got, "w3") || strings.Contains(got, "d2") &&
					strings.Contains(got, "w1") {
					t.Fatalf("a target has %s, because of %v", got, s.why)
				}
			}
		}
	}
	const first = "top=t1@c1 modules/db=d1@c1 modules/web=w1@c1"
	turns(first, 20)
	if got := s.contents(); !slices.Equal(got, []string{first}) {
		t.Fatalf("the first installation: %q, because of %v", got, s.why)
	}
	const second = "top=t1@c1 modules/db=d2@c2 modules/web=w3@c2"
	turns(second, 20)
	if got := s.contents(); !slices.Equal(got, []string{second}) {
		t.Fatalf("the targets have %q, because of %v", got, s.why)
	}
	if got := phases(s.hub); got != "r2 completed, r1 completed" {
		t.Error(got)
	}
}

// TestTurnsVersionsOfHeldContent: a change waits as long as the content that it needs is held.
func TestTurnsVersionsOfHeldContent(t *testing.T) {
	s := newSite(t, hubOf(t, bustest.NewStore()))
	s.versioned()
	const first = "top=t1@c1 modules/db=d1@c1 modules/web=w2@c1"
	turns := func(head string, n int) {
		for range n {
			s.turn(head)
		}
		if got := s.contents(); !slices.Equal(got, []string{first}) {
			t.Fatalf("with the head %s: %q, because of %v", head, got, s.why)
		}
	}
	turns(first, 20)
	s.bad = "d2"
	turns("top=t1@c1 modules/db=d2@c2 modules/web=w2@c1", 20)
	turns("top=t1@c1 modules/db=d2@c3 modules/web=w3@c3", 5)
	if got := phases(s.hub); got != "r2 rolled-back, r1 completed" {
		t.Errorf("a rollout of the change begins: %s", got)
	}
	if why := s.why["t1"]; !strings.Contains(why, "web needs db >= 2") {
		t.Error(why)
	}
	const fits = "top=t1@c1 modules/db=d3@c4 modules/web=w3@c4"
	for range 20 {
		s.turn(fits)
	}
	if got := s.contents(); !slices.Equal(got, []string{fits}) {
		t.Errorf("%q, because of %v", got, s.why)
	}
}

// TestRequirements: which changes require which others.
func TestRequirements(t *testing.T) {
	s := newSite(t, hubOf(t, bustest.NewStore()))
	s.versioned()
	for _, c := range []struct{ was, want, requires string }{
		{"modules/db=d1@c1 modules/web=w2@c1", "modules/db=d2@c2 modules/web=w3@c2",
			"web after db: web needs db >= 2, and the content of this module has version 1.0.0"},
		{"modules/db=d1@c1 modules/web=w1@c1", "modules/db=d2@c2 modules/web=w2@c2",
			"db after web: web needs db < 2, and the content of this module has version 2.0.0"},
		{"modules/db=d1@c1 modules/web=w1@c1", "modules/db=d2@c2",
			"db after web: web needs db < 2, and the content of this module has version 2.0.0"}, // web is removed before
		{"modules/db=d2@c1 modules/web=w1@c1", "modules/db=d3@c2 modules/web=w2@c2", ""}, // they do not fit now either
		{"modules/db=d2@c1 modules/web=w2@c1", "modules/db=d3@c2 modules/web=w3@c2", ""},
		{"", "modules/db=d2@c2 modules/web=w3@c2",
			"web after db: web needs db >= 2, and the target does not have this module yet"},
		{"modules/db=x@c1 modules/web=w2@c1", "modules/db=d2@c2 modules/web=w3@c2",
			"web after db: web needs db >= 2, and the version of the present content is not known"},
		{"modules/db=d1@c1 modules/web=x@c1", "modules/db=d2@c2 modules/web=w2@c2", ""},
		{"modules/a=1@c1 modules/db=d1@c1 modules/web=w2@c1", "modules/a=1@c1 modules/db=d2@c2 modules/web=w3@c2",
			"web after db: web needs db >= 2, and the content of this module has version 1.0.0"},
	} {
		d := assign.Desired{Was: assignment(c.was), Want: assignment(c.want)}
		if c.was == "" {
			d.Was = nil
		}
		var got []string
		for part, list := range s.head.requirements().of(d) {
			for _, r := range list {
				got = append(got, strings.TrimPrefix(part, "modules/")+" after "+strings.TrimPrefix(r.Part, "modules/")+": "+r.Why)
			}
		}
		if text := strings.Join(got, "; "); text != c.requires {
			t.Errorf("from %q to %q: %q, want %q", c.was, c.want, text, c.requires)
		}
	}
	if got := (Fleet{}).requirements().of(assign.Desired{Want: assignment("modules/db=d1@c1")}); got != nil {
		t.Errorf("without constraints: %v", got)
	}
	if got := s.head.requirements().of(assign.Desired{Was: assignment("modules/db=d1@c1")}); got != nil {
		t.Errorf("without a desired assignment: %v", got)
	}
	unknown := assign.Desired{Was: assignment("modules/db=x@c1 modules/web=w2@c1"),
		Want: assignment("modules/db=d2@c2 modules/web=w3@c2")}
	eager := s.head
	eager.Eager = true
	if got := eager.requirements().of(unknown); len(got) > 0 {
		t.Errorf("in a preview, content with an unknown version counts: %v", got)
	}
	all := map[string][]rollout.Required{"a": {{Part: "b", Why: "1"}},
		"b": {{Part: "c", Why: "2"}}, "c": {{Part: "a", Why: "3"}}}
	if closeOver(all); len(all["a"]) != 2 || len(all["b"]) != 2 || len(all["c"]) != 2 {
		t.Error(all)
	}
}

// TestUnfit: an assignment never has content that does not fit each other, except for a pair that the target has.
func TestUnfit(t *testing.T) {
	s := newSite(t, hubOf(t, bustest.NewStore()))
	s.versioned()
	const needs = "web needs db >= 2"
	for name, c := range map[string]struct{ was, want, allowed, get, why string }{
		"the second is old": {"top=t1@c1 modules/db=d1@c1 modules/web=w2@c1", "top=t1@c1 modules/db=d2@c2 modules/web=w3@c2",
			"web", "top=t1@c1 modules/db=d1@c1 modules/web=w2@c1", needs},
		"both are new": {"top=t1@c1 modules/db=d1@c1 modules/web=w2@c1", "top=t1@c1 modules/db=d2@c2 modules/web=w3@c2",
			"web db", "top=t1@c1 modules/db=d2@c2 modules/web=w3@c2", ""},
		"only the second is new": {"top=t1@c1 modules/db=d2@c1 modules/web=w3@c1",
			"top=t1@c1 modules/db=d1@c2 modules/web=w3@c1", "db", "top=t1@c1 modules/db=d2@c1 modules/web=w3@c1", needs},
		"a new target": {"", "top=t1@c1 modules/db=d1@c1 modules/web=w3@c1", "top db web", "none", needs},
		"not the pair": {"top=t1@c1 modules/db=d1@c1 modules/web=w3@c1",
			"top=t1@c1 modules/db=d1@c1 modules/web=w3@c1 modules/x=x1@c2", "x",
			"top=t1@c1 modules/db=d1@c1 modules/web=w3@c1 modules/x=x1@c2", ""},
		"an unknown version": {"top=t1@c1 modules/db=x@c1 modules/web=w2@c1", "top=t1@c1 modules/db=x@c1 modules/web=w3@c2",
			"web", "top=t1@c1 modules/db=x@c1 modules/web=w3@c2", ""},
	} {
		was, want := assignment(c.was), assignment(c.want)
		how := choice{known: &differences{}, wants: wants(was, *want), requires: s.head.requirements(),
			stable: func(string) (p fleet.Assigned, ok bool) { return p, false },
			allowed: func(ch rollout.Change) (bool, string) {
				return slices.Contains(strings.Fields(c.allowed), strings.TrimPrefix(ch.Part, "modules/")), "waits"
			}}
		give, why := how.compose(was, *want)
		if text(give) != c.get || !strings.Contains(why, c.why) || c.why == "" && why != "" {
			t.Errorf("%s: %s because %q, want %s", name, text(give), why, c.get)
		}
	}
}
