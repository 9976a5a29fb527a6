package assign

import (
	"cmp"
	"slices"

	"fettle.dev/fettle/internal/fleet"
)

// EnvironmentKind is the kind of scope of environments that a repository declares.
const EnvironmentKind = "environment"

// MaxEnvironment is the longest time in seconds between the creation or extension of an environment and its end.
const MaxEnvironment = 30 * 24 * 3600

// Environment is an environment that an operator created for a limited time. Its targets follow a branch of their own,
// with all of their content or with some modules. They are pinned, as by a fleet.Pin.
type Environment struct {
	Name   string `json:"name"`
	Parent string `json:"parent"` // an environment that the repository declares
	Branch string `json:"branch"` // or tag
	// Modules are the directories of the modules that follow the branch, sorted. None means the whole content.
	Modules []string         `json:"modules,omitempty"`
	Targets []fleet.TargetID `json:"targets"`          // sorted
	Select  []string         `json:"select,omitempty"` // the selection of Targets, for users
	Domain  string           `json:"domain,omitempty"` // see fleet.Environment
	// Vars are the variables of the environment, as texts.
	Vars   map[string]string `json:"vars,omitempty"`
	By     string            `json:"by"`
	Reason string            `json:"reason,omitempty"`
	At     int64             `json:"at"`    // time of the creation, ns since 1970
	Until  int64             `json:"until"` // seconds since 1970; 0 means no end, which only environments of rules have
	// Rule is the name of the rule that created it, or "".
	Rule string `json:"rule,omitempty"`
	// Removed means that an operator removed an environment of a rule. The rule does not create it again while its branch
	// exists.
	Removed bool `json:"removed,omitempty"`
}

// ID returns the ID of the environment as a scope.
func (e Environment) ID() string { return EnvironmentKind + "/" + e.Name }

// InForce reports whether the environment has not ended at a time, in seconds since 1970.
func (e Environment) InForce(now int64) bool { return now < e.Until || e.Until == 0 && e.Rule != "" }

// pins returns the pins that the environment gives each of its targets.
func (e Environment) pins() []fleet.Pin {
	pin := fleet.Pin{Ref: e.Branch, Until: e.Until, By: e.By, Reason: e.Reason, Environment: e.Name}
	if len(e.Modules) == 0 {
		return []fleet.Pin{pin}
	}
	var out []fleet.Pin
	for _, m := range e.Modules {
		pin.Module = m
		out = append(out, pin)
	}
	return out
}

// EnvironmentsOf returns the environment in force of each target that has one. If a target is in several, which only
// requests to two hubs at the same moment cause, the environment that was created first counts.
func EnvironmentsOf(all []Environment, now int64) map[fleet.TargetID]Environment {
	out := map[fleet.TargetID]Environment{}
	for _, e := range byCreation(all) {
		for _, id := range e.Targets {
			if _, has := out[id]; !has && e.InForce(now) {
				out[id] = e
			}
		}
	}
	return out
}

// ofTarget returns what a target of the environment has.
func (e Environment) ofTarget() *fleet.Environment {
	return &fleet.Environment{Name: e.Name, Parent: e.Parent, Domain: e.Domain, Vars: e.Vars}
}

// Check returns an error if no environment can have these values.
func (e Environment) Check() error { return e.ofTarget().Check() }

// InEnvironments returns targets with the environments that are in force at a time, in seconds since 1970. If the
// repository declares an environment of the same name, the language ignores the attribute of the target.
func InEnvironments(targets []fleet.Target, all []Environment, now int64) []fleet.Target {
	return within(targets, EnvironmentsOf(all, now))
}

// within returns targets with their environments. If no target has one, it returns the same slice.
func within(targets []fleet.Target, in map[fleet.TargetID]Environment) []fleet.Target {
	if len(in) == 0 {
		return targets
	}
	out, known := slices.Clone(targets), map[string]*fleet.Environment{}
	for i, t := range out {
		e, has := in[t.ID]
		if !has {
			continue
		}
		if known[e.Name] == nil {
			known[e.Name] = e.ofTarget()
		}
		out[i].Environment = known[e.Name]
	}
	return out
}

func byCreation(all []Environment) []Environment {
	return slices.SortedFunc(slices.Values(all), func(a, b Environment) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Name, b.Name))
	})
}
