// Package builtin has the built-in actions and commands. They are available in every repository,
// and also without a repository.
//
//	for _, a := range builtin.Actions() {
//		fmt.Println(a.Name, a.Argv(func(param string) string { return "nginx" }))
//	}
//
// To add an action or a command, add it only to Actions or Commands. Names, parameters, lists and
// the documentation are generated from these functions.
package builtin

import (
	"slices"

	"fettle.dev/fettle/internal/lang/query"
)

// Values returns the value of a parameter: the given value, or the default.
type Values func(param string) string

// Action is an action that every target has. Argv returns its commands. They run in order until one
// fails, with DEBIAN_FRONTEND=noninteractive in the environment.
type Action struct {
	query.Action
	Argv func(v Values) [][]string
}

// Command is a built-in command. Parts without Targets run on the targets that the user selects.
type Command struct {
	query.Command
	Run func(v Values) []query.Part
}

// Actions returns all built-in actions, by name. Each call returns a new slice.
func Actions() []Action {
	return []Action{
		{query.Action{Name: "package-lists", Doc: "update the package lists", Changes: true},
			func(Values) [][]string { return [][]string{apt("update")} }},
		{query.Action{Name: "package-upgrade",
			Doc: "upgrade an installed package to the newest version in the package lists", Changes: true,
			Params: named("the package")},
			func(v Values) [][]string { return [][]string{apt("install", "--only-upgrade", "--", v("name"))} }},
		{query.Action{Name: "service-reload", Doc: "reload the configuration of a unit", Changes: true,
			Params: named("the unit")}, systemctl("reload", "--")},
		{query.Action{Name: "service-restart", Doc: "restart a unit", Changes: true, Params: named("the unit")},
			systemctl("restart", "--")},
		{query.Action{Name: "service-status", Doc: "show the status of a unit", Params: named("the unit")},
			systemctl("status", "--no-pager", "--")},
		{query.Action{Name: "units-failed", Doc: "list the failed units", JSON: true},
			func(Values) [][]string {
				return [][]string{{"systemctl", "list-units", "--failed", "--all", "--output=json"}}
			}},
	}
}

// Commands returns all built-in commands, by name. Each call returns a new slice.
func Commands() []Command {
	batch := query.Param{Name: "batch", Type: "string", Doc: "number of targets that run at the same time",
		Default: `"10%"`}
	roll := func(name, doc, what, action string, before ...query.Part) Command {
		c := Command{Command: query.Command{Name: name, Doc: doc, Params: append([]query.Param{batch}, named(what)...)}}
		for _, p := range before {
			c.Parts = append(c.Parts, p.Name)
		}
		c.Parts = append(c.Parts, action)
		c.Run = func(v Values) []query.Part {
			last := query.Part{Name: action, Action: action, Params: map[string]string{"name": v("name")}, Batch: v("batch"),
				MaxFailed: "0"}
			return append(slices.Clone(before), last)
		}
		return c
	}
	lists := query.Part{Name: "package-lists", Action: "package-lists", MaxFailed: "0"}
	return []Command{
		roll("rolling-restart", "restart a unit on all targets, a few at a time; stop at the first failure", "the unit",
			"service-restart"),
		roll("rolling-upgrade",
			"update the package lists on all targets, then upgrade a package a few targets at a time; "+
				"stop at the first failure", "the package", "package-upgrade", lists),
	}
}

// named returns the parameter name, which most actions have.
func named(what string) []query.Param {
	return []query.Param{{Name: "name", Type: "string", Doc: what, Required: true}}
}

func systemctl(words ...string) func(Values) [][]string {
	return func(v Values) [][]string {
		return [][]string{slices.Concat([]string{"systemctl"}, words, []string{v("name")})}
	}
}

func apt(words ...string) []string {
	return append([]string{"apt-get", "-q", "-y", "-o", "Dpkg::Options::=--force-confold", "-o",
		"DPkg::Lock::Timeout=60"}, words...)
}
