package once

import (
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

// fewTargets is up to how many targets lines are shown while they come.
const fewTargets = 4

// SomeNames are the first of many targets.
func SomeNames(names []string) string {
	const most = 8
	if len(names) > most+1 {
		return fmt.Sprintf("%s and %s", strings.Join(names[:most], ", "), render.Count(len(names)-most, "other target"))
	}
	return strings.Join(names, ", ")
}

// whereDeclared lists the modules that declare an action, and their targets.
func whereDeclared(found []query.Declared) string {
	var out []string
	for _, d := range found {
		who := "which no target has"
		if len(d.Targets) > 0 {
			who = "which " + SomeNames(d.Targets) + " " + map[bool]string{true: "has", false: "have"}[len(d.Targets) == 1]
		}
		out = append(out, fmt.Sprintf("It is one of the module %s (%s), %s.", d.Module, cli.PlaceText(d.Range), who))
	}
	return strings.Join(out, " ")
}
