package environments

import (
	"fmt"
	"slices"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// polled contains everything on which the environments of rules depend.
type polled struct {
	now          int64 // seconds since 1970
	rules        []records.EnvironmentRule
	environments []assign.Environment
	// branches are the branches that begin with the prefix of a rule, by rule. errs are the rules whose branches cannot
	// be read.
	branches map[string][]string
	errs     map[string]error
	// pool are the targets that a rule can use, sorted by name: active members of the parent without a pin. poolErrs are
	// the reasons why it cannot use any.
	pool     map[string][]fleet.TargetID
	poolErrs map[string]error
	// active are all active targets, and declared the names of environments that the repository declares.
	active   map[fleet.TargetID]bool
	declared map[string]bool
	branch   string // that the fleet follows
}

// followed is the result of a poll.
type followed struct {
	put     []assign.Environment
	remove  []string          // names
	notes   map[string]string // the text of each change, by name of the environment
	results map[string]records.FollowedBranches
}

// decision is the state of one decide.
type decision struct {
	polled
	followed
	byName map[string]assign.Environment
	used   map[fleet.TargetID]bool
}

// decide returns the changes of environments of rules. A repetition changes nothing.
// If the branches of a rule cannot be read, its environments do not change.
func decide(p polled) followed {
	out := followed{notes: map[string]string{}, results: map[string]records.FollowedBranches{}}
	d := &decision{polled: p, followed: out,
		byName: map[string]assign.Environment{}, used: map[fleet.TargetID]bool{}}
	for _, e := range p.environments {
		d.byName[e.Name] = e
	}
	rules := map[string]records.EnvironmentRule{}
	for _, r := range p.rules {
		rules[r.Name] = r
	}
	for _, name := range names(d.byName) {
		if e := d.byName[name]; e.Rule != "" {
			r, exists := rules[e.Rule]
			d.existing(e, r, exists)
		}
	}
	for _, e := range d.byName {
		if e.InForce(p.now) {
			for _, id := range e.Targets {
				d.used[id] = true
			}
		}
	}
	for _, name := range names(rules) {
		d.rule(rules[name])
	}
	return d.followed
}

// set changes an environment.
func (d *decision) set(e assign.Environment, note string) {
	d.byName[e.Name], d.notes[e.Name] = e, note
	d.put = append(d.put, e)
}

// existing decides whether an environment of a rule ends.
func (d *decision) existing(e assign.Environment, r records.EnvironmentRule, hasRule bool) {
	inForce := e.InForce(d.now)
	if !hasRule {
		if e.Removed {
			d.drop(e)
		} else if inForce {
			e.Until = d.now
			d.set(e, "ends, because the rule "+e.Rule+" does not exist any more")
		}
		return
	}
	if d.errs[r.Name] != nil {
		return
	}
	part, matches := r.Part(e.Branch)
	there := matches && r.EnvironmentName(part) == e.Name && slices.Contains(d.branches[r.Name], e.Branch)
	alive := slices.ContainsFunc(e.Targets, func(id fleet.TargetID) bool { return d.active[id] })
	switch {
	case e.Removed && !there || inForce && there && !alive:
		d.drop(e)
	case e.Removed || !inForce:
	case there && e.Until != 0:
		e.Until = 0
		d.set(e, "continues, because its branch "+e.Branch+" exists again")
	case !there && e.Until == 0:
		e.Until = d.now + r.Keep
		d.set(e, fmt.Sprintf("ends at %s, because its branch %s is gone", until(e), e.Branch))
	}
}

func (d *decision) drop(e assign.Environment) {
	delete(d.byName, e.Name)
	d.remove = append(d.remove, e.Name)
}

// rule creates the missing environments of a rule.
func (d *decision) rule(r records.EnvironmentRule) {
	if err := d.errs[r.Name]; err != nil {
		d.results[r.Name] = records.FollowedBranches{Error: err.Error()}
		return
	}
	out := records.FollowedBranches{}
	for _, branch := range d.branches[r.Name] {
		part, matches := r.Part(branch)
		if !matches || branch == d.branch {
			continue
		}
		if why := d.create(r, branch, part); why != "" && len(out.Waiting) < maxWaiting {
			out.Waiting = append(out.Waiting, records.WaitingBranch{Branch: branch, Why: why})
		}
	}
	d.results[r.Name] = out
}

// create creates the environment of a branch, unless it exists. It returns the reason why the branch has none, or "".
func (d *decision) create(r records.EnvironmentRule, branch, part string) (why string) {
	e := assign.Environment{Name: r.EnvironmentName(part), Parent: r.Parent, Branch: branch, Modules: r.Modules,
		Vars: r.Vars, Select: r.Select, By: r.By, Reason: r.Reason, At: d.now * 1e9, Rule: r.Name}
	old, exists := d.byName[e.Name]
	if e.Check() != nil || e.Name == r.Name {
		return fmt.Sprintf("%.70q cannot be a part of the name of an environment: a name has up to 63 letters, digits and -",
			part)
	}
	switch {
	case exists && old.Rule == r.Name && old.Branch != branch && (old.InForce(d.now) || old.Removed):
		return fmt.Sprintf("the branch %s has the environment %s. Rename one of the two branches", old.Branch, e.Name)
	case exists && old.InForce(d.now) && old.Rule == r.Name:
		return ""
	case exists && d.notes[e.Name] != "":
		return "the environment " + e.Name + " of the branch " + old.Branch + " ends now"
	case exists && old.InForce(d.now):
		return "an operator created an environment of the name " + e.Name
	case exists && old.Removed:
		return "an operator removed its environment. It is created again after the branch was deleted and pushed again"
	case d.declared[e.Name]:
		return "the repository declares an environment of the name " + e.Name
	}
	inForce, ofRule := 0, 0
	for _, o := range d.byName {
		if o.InForce(d.now) {
			if inForce++; o.Rule == r.Name {
				ofRule++
			}
		}
	}
	switch {
	case ofRule >= r.Max:
		return fmt.Sprintf("the rule has %d environments, which is its maximum", ofRule)
	case inForce >= maxEnvironments:
		return fmt.Sprintf("%d environments are in force, which is the maximum", inForce)
	case d.poolErrs[r.Name] != nil:
		return d.poolErrs[r.Name].Error()
	}
	for _, id := range d.pool[r.Name] {
		if !d.used[id] && len(e.Targets) < r.Each {
			e.Targets = append(e.Targets, id)
		}
	}
	if len(e.Targets) < r.Each {
		return fmt.Sprintf("it needs %s, and %d of the rule are free", count(r.Each), len(e.Targets))
	}
	for _, id := range e.Targets {
		d.used[id] = true
	}
	slices.Sort(e.Targets)
	d.set(e, fmt.Sprintf("created from %s by the rule %s for %s, which follow %s until it is gone", e.Parent, r.Name,
		count(len(e.Targets)), branch))
	return ""
}
