package differences

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/exported"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
)

// mostTargets limits the targets that one request compares.
const mostTargets = 5000

// class are targets with the same present content and the same desired content. Their lists are compiled from the same
// two trees.
type class struct {
	was     fleet.Assignment // of one of the members; the zero value means none
	want    fleet.Assignment
	members []member // sorted by name
}

// member is a target of a class.
type member struct {
	name      string
	was, want map[string]string // labels
	has       bool              // it has an assignment now
	facts     map[string]string
}

// groups are all active targets.
type groups struct {
	targets   int
	unchanged int
	classes   []class // in the order of the names of their first members
	failed    reasons
	excluded  reasons
}

// reasons are targets by reason.
type reasons map[string][]string

func (r reasons) add(reason string, targets ...string) { r[reason] = append(r[reason], targets...) }

// group groups the targets of a decision. errs are the errors of the commit, by target.
func group(all []assign.Desired, errs map[string][]string, facts map[fleet.TargetID]map[string]string) groups {
	g := groups{targets: len(all), excluded: reasons{}, failed: reasons{}}
	byKey := map[string]*class{}
	compared := 0
	for _, d := range all {
		m, was := member{name: d.Target.Name, facts: facts[d.Target.ID]}, fleet.Assignment{}
		if d.Was != nil && d.Was.Withdrawn == "" {
			was, m.was, m.has = *d.Was, d.Was.Labels, true
		}
		switch {
		case d.Want == nil && len(errs[m.name]) > 0:
			g.failed.add(errs[m.name][0], m.name)
			continue
		case d.Want == nil && d.Target.Pin != nil:
			g.excluded.add("pinned to "+d.Target.Pin.Ref, m.name)
			continue
		case d.Want == nil:
			g.excluded.add(cmp.Or(d.Kept, "the commit is not used for the target"), m.name)
			continue
		}
		m.want = d.Want.Labels
		before, after := contentKey(was), contentKey(*d.Want)
		switch {
		case m.has && before == after && maps.Equal(m.was, m.want):
			g.unchanged++
			continue
		case compared == mostTargets:
			g.excluded.add(fmt.Sprintf("the limit of %d targets", mostTargets), m.name)
			continue
		}
		compared++
		key := fmt.Sprintf("%t\n%s\n%s", m.has, before, after)
		if byKey[key] == nil {
			byKey[key] = &class{was: was, want: *d.Want}
		}
		byKey[key].members = append(byKey[key].members, m)
	}
	for _, c := range byKey {
		slices.SortFunc(c.members, func(a, b member) int { return strings.Compare(a.name, b.name) })
		g.classes = append(g.classes, *c)
	}
	slices.SortFunc(g.classes, func(a, b class) int { return strings.Compare(a.members[0].name, b.members[0].name) })
	return g
}

// contentKey returns a text that identifies the content of an assignment.
func contentKey(a fleet.Assignment) string {
	var b strings.Builder
	for _, p := range slices.Concat([]fleet.Assigned{a.Root}, a.Modules) {
		fmt.Fprintf(&b, "%q:%s ", p.Module, p.Bundle.Digest)
	}
	fmt.Fprintf(&b, "%q %q ", a.Withheld, a.Environment.Text())
	if len(a.Exported) > 0 {
		b.Write(exported.Text(a.Exported))
	}
	return b.String()
}

// key returns a digest of the inputs of all lists.
func (g groups) key(commit string) string {
	type target struct {
		Name            string
		Has             bool
		Was, Want, Fact map[string]string
	}
	sum := sha256.New()
	out := json.NewEncoder(sum)
	write := func(v any) {
		if err := out.Encode(v); err != nil {
			fmt.Fprintf(sum, "%v", err) // all values are texts, so there is none
		}
	}
	write([]any{commit, g.targets, g.unchanged, g.failed, g.excluded})
	for _, c := range g.classes {
		write([]string{contentKey(c.was), contentKey(c.want)})
		for _, m := range c.members {
			write(target{m.name, m.has, m.was, m.want, m.facts})
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// alike splits members by their facts, each part in the order of the names.
func alike(all []member) (out [][]member) {
	at := map[string]int{}
	for _, m := range all {
		key := fmt.Sprintf("%t", m.has)
		for _, name := range slices.Sorted(maps.Keys(m.facts)) {
			key += fmt.Sprintf("\n%q=%q", name, m.facts[name])
		}
		i, known := at[key]
		if !known {
			i = len(out)
			at[key] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], m)
	}
	return out
}
