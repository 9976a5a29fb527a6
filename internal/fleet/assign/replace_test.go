package assign_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
)

// replacing is a fleet of one target with the modules web and db. In the commit a, all parts have the content a.
type replacing struct {
	target fleet.Target
	in     assign.Input
}

func newReplacing(head string) *replacing {
	f := &replacing{target: fleet.Target{ID: "aaaaaaaaaaaaaaaaaaaaaaaaaa", Name: "web1", Standing: fleet.Active}}
	f.in = assign.Input{Now: 100, Epoch: 1, Branch: "main", Targets: []fleet.Target{f.target},
		Refs: map[string]assign.Ref{}, Revisions: map[string]assign.Contents{},
		Previous: map[fleet.TargetID]fleet.Assignment{}}
	f.commit("a", "aaa")
	f.commit("b", "bbb")
	f.commit("c", "ccc")
	f.head(head)
	return f
}

func hash(c string) string { return strings.Repeat(c, 40) }

// commit adds a commit with a content of the root bundle, web and db.
func (f *replacing) commit(commit, contents string) {
	bundle := func(i int) fleet.Bundle {
		return fleet.Bundle{Digest: "sha256:" + strings.Repeat(contents[i:i+1], 64), Size: 1}
	}
	c := assign.Contents{Revision: fleet.Revision{Repository: "site", Commit: hash(commit)},
		Enrolled: assign.EnrolledDigest(f.in.Targets), Root: bundle(0),
		Bundles: map[string]fleet.Bundle{"modules/web": bundle(1), "modules/db": bundle(2)},
		Targets: map[string]assign.Configured{"web1": {Modules: []assign.Module{{Directory: "modules/web"},
			{Directory: "modules/db"}}}}}
	f.in.Revisions[hash(commit)], f.in.Refs[hash(commit)] = c, assign.Ref{Commit: hash(commit)}
}

func (f *replacing) head(commit string) { f.in.Refs["main"] = assign.Ref{Commit: hash(commit)} }

// order adds a rollback: PART HELD TO.
func (f *replacing) order(words string) {
	w := strings.Fields(words)
	f.in.Replacements = append(f.in.Replacements, assign.Replacement{Part: w[0], Held: hash(w[1]), Commit: hash(w[2]),
		By: "jane", At: f.in.Now})
	f.in.Now++
}

// gets computes, and returns the contents of the root bundle, web and db, or "" without an assignment.
func (f *replacing) gets() string {
	out := assign.Compute(f.in)
	for _, a := range out.Assignments {
		f.in.Previous[a.Target] = a
	}
	a, ok := f.in.Previous[f.target.ID]
	if !ok {
		return ""
	}
	text := ""
	for _, p := range append([]fleet.Assigned{a.Root}, a.Modules...) {
		text += p.Bundle.Digest[len("sha256:"):][:1]
	}
	return text
}

// The newest rollback of a part wins, whether it names the part or all parts, and each ends with other content.
func TestReplacements(t *testing.T) {
	for _, c := range []struct{ orders, head, want string }{
		{"modules/web c a", "c", "cac"},
		{"top c a", "c", "acc"},
		{"all c a", "c", "aaa"},
		{"modules/web c a; all c b", "c", "bbb"},
		{"all c b; modules/web c a", "c", "bab"},
		{"modules/web c a; all c d", "c", "ccc"}, // d has the content c of web
		{"modules/web c a", "e", "eae"},          // e has the content c of web
		{"modules/web c a", "b", "bbb"},
		{"modules/web c a; modules/db b c", "b", "bbc"},
		{"modules/web c a; all b a", "c", "cac"}, // the branch has the content of c again
		{"modules/web c a; all b c", "b", "ccc"}, // the newer one returns to the content of c
		{"modules/web c a; all b c", "c", "ccc"},
		{"all c f; modules/web b c", "b", "bcb"}, // f does not compile
		{"modules/web b c; all c f", "b", ""},
	} {
		f := newReplacing(c.head)
		f.commit("d", "ccc")
		f.commit("e", "ece")
		f.in.Revisions[hash("f")] = assign.Contents{Error: "it does not compile"}
		for o := range strings.SplitSeq(c.orders, "; ") {
			f.order(o)
		}
		if got := f.gets(); got != c.want {
			t.Errorf("%s with the head %s: %s, want %s", c.orders, c.head, got, c.want)
		}
	}
}

// Held content does not reach another target while the content that replaces it is unknown. Targets that have it keep
// it. Without the held content, the rollback has no effect.
func TestReplacementsThatAreUnknown(t *testing.T) {
	for name, c := range map[string]struct {
		change func(f *replacing)
		want   string
	}{
		"not read":            {func(f *replacing) { delete(f.in.Revisions, hash("a")) }, "bbb"},
		"not read, no target": {func(f *replacing) { delete(f.in.Revisions, hash("a")); clear(f.in.Previous) }, ""},
		"it has an error": {func(f *replacing) {
			f.in.Revisions[hash("a")] = assign.Contents{Error: "it does not compile"}
		}, "bbb"},
		"it has no such module": {func(f *replacing) { delete(f.in.Revisions[hash("a")].Bundles, "modules/web") }, "bbb"},
		"it was read before": {func(f *replacing) { f.in.Refs[hash("a")] = assign.Ref{Commit: hash("a"), Error: "away"} },
			"cac"},
		"held is unknown": {func(f *replacing) { delete(f.in.Revisions, hash("d")); f.in.Replacements[0].Held = hash("d") },
			"ccc"},
		"a target that has it": {func(f *replacing) {
			f.head("c")
			f.in.Replacements = nil
			f.gets()
			f.order("modules/web c a")
			delete(f.in.Revisions, hash("a"))
			f.commit("e", "eee")
			f.commit("d", "ece")
			f.head("d")
		}, "ece"},
	} {
		f := newReplacing("b")
		f.gets()
		f.head("c")
		f.order("modules/web c a")
		c.change(f)
		if got := f.gets(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		alarms := fmt.Sprint(assign.Compute(f.in).Alarms)
		if unknown := name != "it was read before"; strings.Contains(alarms, "rollback of modules/web") !=
			(name == "held is unknown") || strings.Contains(alarms, "without stable content") != (unknown &&
			name != "held is unknown") {
			t.Errorf("%s: %s", name, alarms)
		}
	}
}

// A pin has priority over a rollback.
func TestReplacementsOfPins(t *testing.T) {
	f := newReplacing("c")
	f.order("all c a")
	f.in.Targets[0].Pin = &fleet.Pin{Module: "modules/web", Ref: "main"}
	if got := f.gets(); got != "aca" {
		t.Errorf("a pinned module: %s", got)
	}
	f.in.Targets[0].Pin = &fleet.Pin{Ref: "main"}
	if got := f.gets(); got != "ccc" {
		t.Errorf("a pinned target: %s", got)
	}
}

// Newer content in the branch ends the alarm about a rollback without content.
func TestAlarmOfUnknownReplacement(t *testing.T) {
	f := newReplacing("c")
	f.order("modules/web c a")
	f.in.Revisions[hash("a")] = assign.Contents{Error: "it does not compile"}
	for head, want := range map[string]bool{"c": true, "b": false} {
		f.head(head)
		if got := len(assign.Compute(f.in).Alarms) > 0; got != want {
			t.Errorf("an alarm with the head %s: %t, want %t", head, got, want)
		}
	}
}

// TestReplacementThatDoesNotFit: targets keep their assignments if a rollback returns to content that does not fit the
// other parts of the head.
func TestReplacementThatDoesNotFit(t *testing.T) {
	for name, c := range map[string]struct {
		change func(a, b *assign.Contents)
		want   string
	}{
		"a need": {func(a, _ *assign.Contents) {
			a.Targets["web1"].Modules[0].Needs = []fleet.Need{{Module: "modules/gone", Level: fleet.Available}}
		}, "modules/web needs modules/gone, which the target does not have"},
		"a version": {func(a, b *assign.Contents) {
			a.Versions = map[string]assign.Versioned{"modules/web": {Requires: []assign.Requirement{{By: "modules/web",
				Module: "modules/db", Version: "< 2"}}}}
			b.Versions = map[string]assign.Versioned{"modules/db": {Versions: map[string]string{"modules/db": "2.0.0"}}}
		}, "web needs db < 2, and the content of this module has version 2.0.0"},
	} {
		f := newReplacing("b")
		a, b := f.in.Revisions[hash("a")], f.in.Revisions[hash("b")]
		c.change(&a, &b)
		f.in.Revisions[hash("a")], f.in.Revisions[hash("b")] = a, b
		f.order("modules/web b a")
		out := assign.Compute(f.in)
		texts := ""
		for _, alarm := range out.Alarms {
			texts += alarm.Text + "\n"
		}
		if len(out.Assignments) > 0 || !strings.Contains(texts, "the rollback of the fleet contradicts the commit: "+c.want) {
			t.Errorf("%s: %+v, %s", name, out.Assignments, texts)
		}
	}
}

// TestNeededForReplacements: the commits of a rollback must be compiled when their refs are known.
func TestNeededForReplacements(t *testing.T) {
	f := newReplacing("b")
	f.order("modules/web b a")
	f.order("modules/db b d")
	if got := assign.Needed(f.in); len(got) > 0 {
		t.Errorf("%q", got)
	}
	f.in.Refs[hash("d")] = assign.Ref{Commit: hash("d")}
	delete(f.in.Revisions, hash("a"))
	if got := assign.Needed(f.in); !slices.Equal(got, []string{hash("a"), hash("d")}) {
		t.Errorf("%q", got)
	}
}
