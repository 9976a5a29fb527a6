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
	By      string           `json:"by"`
	Reason  string           `json:"reason,omitempty"`
	At      int64            `json:"at"`    // time of the creation, ns since 1970
	Until   int64            `json:"until"` // seconds since 1970
}

// ID returns the ID of the environment as a scope.
func (e Environment) ID() string { return EnvironmentKind + "/" + e.Name }

// InForce reports whether the environment has not ended at a time, in seconds since 1970.
func (e Environment) InForce(now int64) bool { return now < e.Until }

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

func byCreation(all []Environment) []Environment {
	return slices.SortedFunc(slices.Values(all), func(a, b Environment) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Name, b.Name))
	})
}
