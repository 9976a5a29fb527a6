package differences

import (
	"fmt"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleetdiff"
)

// desired returns the decision about a target. "" means that there is no assignment.
func desired(name, was, want string) assign.Desired {
	d := assign.Desired{Target: fleet.Target{ID: fleet.TargetID(name), Name: name}}
	assigned := func(digest string) *fleet.Assignment {
		if digest == "" {
			return nil
		}
		return &fleet.Assignment{Name: name, Root: fleet.Assigned{Bundle: fleet.Bundle{Digest: digest}}}
	}
	d.Was, d.Want = assigned(was), assigned(want)
	return d
}

// Each target is in exactly one place: compared, unchanged, failed, or excluded with a reason.
func TestGroup(t *testing.T) {
	pinned, failed, kept, withdrawn := desired("pinned", "a", ""), desired("failed", "a", ""), desired("kept", "a", ""),
		desired("withdrawn", "a", "b")
	pinned.Target.Pin, kept.Kept, withdrawn.Was.Withdrawn = &fleet.Pin{Ref: "v1"}, "it is suspect", "it is suspect"
	all := []assign.Desired{desired("web2", "a", "b"), desired("web1", "a", "b"), desired("new", "", "b"),
		desired("same", "b", "b"), pinned, failed, kept, withdrawn}
	g := group(all, map[string][]string{"failed": {"web.hcl:1: wrong"}}, nil)
	var got []string
	for _, c := range g.classes {
		got = append(got, strings.Join(namesOf(c.members), " "))
	}
	text := fmt.Sprint(got, g.targets, g.unchanged, g.failed, g.excluded)
	if want := "[new withdrawn web1 web2] 8 1 map[web.hcl:1: wrong:[failed]] " +
		"map[it is suspect:[kept] pinned to v1:[pinned]]"; text != want {
		t.Errorf("%s, want %s", text, want)
	}
	key := g.key("c")
	if group(all, nil, nil).key("c") == key || g.key("d") == key {
		t.Error("other inputs have the same key")
	}
	facts := map[fleet.TargetID]map[string]string{"web1": {"cpus": "2"}}
	g = group(all, map[string][]string{"failed": {"web.hcl:1: wrong"}}, facts)
	if g.key("c") == key {
		t.Error("other facts have the same key")
	}
	if parts := alike(g.classes[1].members); len(parts) != 2 {
		t.Errorf("targets with different facts are compiled together: %v", parts)
	}
	var many []assign.Desired
	for i := range mostTargets + 2 {
		many = append(many, desired(fmt.Sprintf("h%05d", i), "a", "b"))
	}
	g = group(many, nil, nil)
	if len(g.classes[0].members) != mostTargets || len(g.excluded["the limit of 5000 targets"]) != 2 {
		t.Errorf("%v", g.excluded)
	}
}

// An answer is small for any repository, and counts the omitted parts.
func TestLimitsOfAnswers(t *testing.T) {
	var all []fleetdiff.Diff
	for range mostGroups + 3 {
		d := fleetdiff.Diff{Lines: make([]string, mostLines+5), Targets: make([]string, mostNames+7)}
		d.Lines[0] = strings.Repeat("ä", mostText)
		all = append(all, d)
	}
	groups, more, targets := groupsOf(all)
	if len(groups) != mostGroups || more != 3 || targets != 3*(mostNames+7) {
		t.Errorf("%d groups, %d more with %d targets", len(groups), more, targets)
	}
	if g := groups[0]; g.Count != mostNames+7 || len(g.Targets) != mostNames || len(g.Lines) != mostLines ||
		g.MoreLines != 5 || len(g.Lines[0].Text) > mostText+len("…") {
		t.Errorf("%d of %d targets, %d lines and %d more", len(g.Targets), g.Count, len(g.Lines), g.MoreLines)
	}
	r := reasons{"x": make([]string, mostNames+1), "y": {"b", "a"}}
	if l := listed(r); len(l) != 2 || l[0].Reason != "x" || len(l[0].Targets) != mostNames || l[1].Targets[0] != "a" {
		t.Errorf("%+v", l)
	}
}

// Reported facts have the types of the table of facts; texts that do not are missing.
func TestValuesOf(t *testing.T) {
	got := valuesOf(map[string]string{"os_codename": "trixie", "cpus": "4", "memory_bytes": "much", "nonsense": "1"})
	if len(got) != 2 || got["os_codename"].AsString() != "trixie" || got["cpus"].AsBigFloat().String() != "4" {
		t.Errorf("%#v", got)
	}
}

// The newest results are kept.
func TestKept(t *testing.T) {
	var k kept[document.TestResults]
	for i := range mostKept + 1 {
		k.put(fmt.Sprint(i), document.TestResults{Total: i})
		k.put(fmt.Sprint(i), document.TestResults{Total: i})
	}
	_, first := k.get("0")
	last, there := k.get(fmt.Sprint(mostKept))
	if first || !there || last.Total != mostKept || len(k.keys) != mostKept {
		t.Errorf("%+v", k)
	}
}
