// Package builtin has the actions and commands that every repository can be asked
// for, and no repository too.
//
//	for _, a := range builtin.Actions() {
//		fmt.Println(a.Name, a.Argv(func(param string) string { return "nginx" }))
//	}
//
// Whoever adds one adds a row here, and nothing anywhere else: names, parameters,
// lists and the documentation come from it.
package builtin

import (
	"slices"

	"fettle.dev/fettle/internal/lang"
)

// Values gives the value of a parameter: what was given, else its default.
type Values func(param string) string

// Action is an action that every target knows. Argv is what it runs, one after the
// other until one fails, with DEBIAN_FRONTEND=noninteractive in its environment.
type Action struct {
	lang.Action
	Argv func(v Values) [][]string
}

// Command is a command that needs no repository to declare it. Parts without Targets
// run where the person says.
type Command struct {
	lang.Command
	Run func(v Values) []lang.Part
}

// Actions are all of them, by name. The slice is fresh at each call.
func Actions() []Action {
	return []Action{
		{lang.Action{Name: "package-lists", Doc: "read the package lists anew", Changes: true},
			func(Values) [][]string { return [][]string{apt("update")} }},
		{lang.Action{Name: "package-upgrade", Doc: "upgrade one package that is installed, as far as the lists know newer ones", Changes: true, Params: named("the package")},
			func(v Values) [][]string { return [][]string{apt("install", "--only-upgrade", "--", v("name"))} }},
		{lang.Action{Name: "service-reload", Doc: "have a unit read its settings anew", Changes: true, Params: named("the unit")}, systemctl("reload", "--")},
		{lang.Action{Name: "service-restart", Doc: "restart a unit", Changes: true, Params: named("the unit")}, systemctl("restart", "--")},
		{lang.Action{Name: "service-status", Doc: "tell how a unit is", Params: named("the unit")}, systemctl("status", "--no-pager", "--")},
		{lang.Action{Name: "units-failed", Doc: "tell which units have failed", JSON: true},
			func(Values) [][]string {
				return [][]string{{"systemctl", "list-units", "--failed", "--all", "--output=json"}}
			}},
	}
}

// Commands are all of them, by name. The slice is fresh at each call.
func Commands() []Command {
	batch := lang.Param{Name: "batch", Type: "string", Doc: "so many targets at a time", Default: `"10%"`}
	roll := func(name, doc, what, action string, before ...lang.Part) Command {
		c := Command{Command: lang.Command{Name: name, Doc: doc, Params: append([]lang.Param{batch}, named(what)...)}}
		for _, p := range before {
			c.Parts = append(c.Parts, p.Name)
		}
		c.Parts = append(c.Parts, action)
		c.Run = func(v Values) []lang.Part {
			last := lang.Part{Name: action, Action: action, Params: map[string]string{"name": v("name")}, Batch: v("batch"), MaxFailed: "0"}
			return append(slices.Clone(before), last)
		}
		return c
	}
	lists := lang.Part{Name: "package-lists", Action: "package-lists", MaxFailed: "0"}
	return []Command{
		roll("rolling-restart", "restart a unit on some targets after the other, until it fails on one", "the unit", "service-restart"),
		roll("rolling-upgrade", "read the package lists everywhere, then upgrade a package on some targets after the other, until it fails on one", "the package", "package-upgrade", lists),
	}
}

// named is the one parameter that most of them have.
func named(what string) []lang.Param {
	return []lang.Param{{Name: "name", Type: "string", Doc: what, Required: true}}
}

func systemctl(words ...string) func(Values) [][]string {
	return func(v Values) [][]string {
		return [][]string{slices.Concat([]string{"systemctl"}, words, []string{v("name")})}
	}
}

func apt(words ...string) []string {
	return append([]string{"apt-get", "-q", "-y", "-o", "Dpkg::Options::=--force-confold", "-o", "DPkg::Lock::Timeout=60"}, words...)
}
