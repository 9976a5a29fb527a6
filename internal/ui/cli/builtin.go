package cli

import (
	"fmt"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/lang"
)

// builtinAction is an action that every target knows, without a repository.
type builtinAction struct {
	lang.Action
	argv func(value func(param string) string) [][]string
}

// builtinActions are all of them, by name. Whoever adds one adds it here and nowhere
// else.
func builtinActions() []builtinAction {
	unit := []lang.Param{{Name: "name", Type: "string", Doc: "the unit", Required: true}}
	systemctl := func(verb string) func(func(string) string) [][]string {
		return func(v func(string) string) [][]string { return [][]string{{"systemctl", verb, "--", v("name")}} }
	}
	apt := []string{"apt-get", "-q", "-y", "-o", "Dpkg::Options::=--force-confold", "-o", "DPkg::Lock::Timeout=60"}
	return []builtinAction{
		{lang.Action{Name: "package-lists", Doc: "read the package lists anew", Changes: true},
			func(func(string) string) [][]string { return [][]string{slices.Concat(apt, []string{"update"})} }},
		{lang.Action{Name: "package-upgrade", Doc: "upgrade one package that is installed, as far as the lists know newer ones", Changes: true,
			Params: []lang.Param{{Name: "name", Type: "string", Doc: "the package", Required: true}}},
			func(v func(string) string) [][]string {
				return [][]string{slices.Concat(apt, []string{"install", "--only-upgrade", "--", v("name")})}
			}},
		{lang.Action{Name: "service-reload", Doc: "have a unit read its settings anew", Changes: true, Params: unit}, systemctl("reload")},
		{lang.Action{Name: "service-restart", Doc: "restart a unit", Changes: true, Params: unit}, systemctl("restart")},
		{lang.Action{Name: "service-status", Doc: "tell how a unit is", Params: unit}, func(v func(string) string) [][]string {
			return [][]string{{"systemctl", "status", "--no-pager", "--", v("name")}}
		}},
	}
}

// builtin gives the command of an action that is built in; ok is false where none has
// the name.
func builtin(name string, params map[string]string, f runningFlags) (cmd executor.Command, ok bool, err error) {
	all := builtinActions()
	i := slices.IndexFunc(all, func(b builtinAction) bool { return b.Name == name })
	if i < 0 {
		return cmd, false, nil
	}
	b := all[i]
	known := map[string]bool{}
	var names []string
	for _, p := range b.Params {
		known[p.Name], names = true, append(names, p.Name)
		if p.Required && params[p.Name] == "" {
			return cmd, true, refuse(fmt.Sprintf("Give it: fettle run %s %s=…", name, p.Name), fmt.Sprintf("cannot run %s without the parameter %q: %s", name, p.Name, p.Doc))
		}
	}
	for _, p := range sortedNames(params) {
		if !known[p] {
			return cmd, true, refuse("It has: "+orNothing(names), fmt.Sprintf("cannot run %s: it has no parameter %q.%s", name, p, lang.Suggest(p, names)))
		}
	}
	env := []string{"DEBIAN_FRONTEND=noninteractive"}
	return executor.Command{Action: name, Argv: b.argv(func(p string) string { return params[p] }), Env: env, Timeout: f.timeout, Looks: !b.Changes}, true, nil
}

func orNothing(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
