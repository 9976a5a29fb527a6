package rollouts

import (
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/rollout"
)

// TestKeptChoices: results that are kept for targets with the same desired modules count only for equal choices and
// equal present modules.
func TestKeptChoices(t *testing.T) {
	want := assignment("top=t2@c2 web=w2@c2 db=d2@c2")
	old, older := assignment("top=t1@c1 web=w1@c1 db=d2@c1"), assignment("top=t1@c1 web=w0@c0 db=d2@c1")
	withdrawn := *old
	withdrawn.Withdrawn = "revoked"
	known := differences{}
	for _, c := range []struct {
		was     *fleet.Assignment
		allowed string
		stable  string
		get     string
	}{
		{old, "", "", "top=t1@c1 web=w1@c1 db=d2@c1"}, {older, "", "", "top=t1@c1 web=w0@c0 db=d2@c1"},
		{old, "web", "", "top=t1@c1 web=w2@c2 db=d2@c1"}, {old, "top", "", "top=t2@c2 web=w1@c1 db=d2@c1"},
		{old, "", "", "top=t1@c1 web=w1@c1 db=d2@c1"}, {old, "top web", "", "top=t2@c2 web=w2@c2 db=d2@c1"},
		{&withdrawn, "", "", "none"}, {&withdrawn, "top", "", "top=t2@c2"}, {nil, "top", "", "top=t2@c2"},
		{nil, "top", "web=s1@c1", "top=t2@c2 web=s1@c1"}, {nil, "top", "web=s2@c1", "top=t2@c2 web=s2@c1"},
		{nil, "top", "web=s2@c0", "top=t2@c2 web=s2@c0"}, {nil, "top db", "", "top=t2@c2 db=d2@c2"},
		{nil, "", "top=s1@c1", "top=s1@c1"}, {nil, "", "", "none"},
	} {
		how := choice{known: &known, wants: wants(c.was, *want),
			allowed: func(ch rollout.Change) (bool, string) {
				return slices.Contains(strings.Fields(c.allowed), ch.Part), "waits"
			},
			stable: func(part string) (p fleet.Assigned, ok bool) {
				if p, ok = find(assignment(c.stable), part); p.Bundle.Digest == "" {
					return p, false
				}
				return p, ok
			}}
		for range 2 {
			if give, _ := how.compose(c.was, *want); text(give) != c.get {
				t.Errorf("with %q and stable %q: %s instead of %s", c.allowed, c.stable, text(give), c.get)
			}
		}
	}
}

// TestKeptLists: results for two lists are computed once.
func TestKeptLists(t *testing.T) {
	var d differences
	was, want := assignment("top=t1@c1 a=1@c1 b=1@c1"), assignment("top=t1@c1 b=2@c2 new=1@c2")
	first, second := d.wants(was, *want), d.wants(was, *want)
	if len(first) != 3 || &first[0] != &second[0] {
		t.Errorf("%v, %v", first, second)
	}
	missing, again := d.missing(was, *want), d.missing(was, *want)
	if !slices.Equal(missing, []string{"new"}) || &missing[0] != &again[0] {
		t.Errorf("%q, %q", missing, again)
	}
	if got := d.missing(want, *was); !slices.Equal(got, []string{"a"}) {
		t.Errorf("in reverse: %q", got)
	}
	shown := []records.Content{{Part: "b", Digest: "1"}}
	strange, kept := d.foreign(was, shown), d.foreign(was, shown)
	if !slices.Equal(strange, []string{"b"}) || &strange[0] != &kept[0] {
		t.Errorf("%q, %q", strange, kept)
	}
	withdrawn := *was
	withdrawn.Withdrawn = "revoked"
	if got := d.foreign(&withdrawn, shown); got != nil || d.missing(&withdrawn, *want) != nil {
		t.Errorf("a target without an assignment has foreign content %q, and lacks %q", got, d.missing(&withdrawn, *want))
	}
}

// TestKeptDigests: parts that differ only in a need have different digests.
func TestKeptDigests(t *testing.T) {
	var d differences
	for range 2 {
		for _, need := range []string{"", ">db", ">dns"} {
			p := assignment("web=w1@c1" + need).Modules[0]
			if got := d.digest(p); got != digest(p) {
				t.Errorf("with the need %q: %s instead of %s", need, got, digest(p))
			}
		}
	}
	if len(d.digests) < 3 {
		t.Errorf("%d digests are kept", len(d.digests))
	}
}

// TestLimited: a limited map begins again when it is full.
func TestLimited(t *testing.T) {
	var m map[int]bool
	var sizes []int
	for i := range 7 {
		m = limited(m, 3)
		m[i] = true
		sizes = append(sizes, len(m))
	}
	if !slices.Equal(sizes, []int{1, 2, 3, 1, 2, 3, 1}) {
		t.Errorf("%v", sizes)
	}
}

// TestUnchangedModules: a list that stays equal is the same list, so that comparing it is fast.
func TestUnchangedModules(t *testing.T) {
	was, want := assignment("top=t1@c1 web=w1@c1"), assignment("top=t2@c2 web=w1@c1")
	how := choice{known: &differences{}, wants: wants(was, *want),
		allowed: func(rollout.Change) (bool, string) { return true, "" }}
	if give, _ := how.compose(was, *want); text(give) != "top=t2@c2 web=w1@c1" || &give.Modules[0] != &was.Modules[0] {
		t.Errorf("%s", text(give))
	}
}
