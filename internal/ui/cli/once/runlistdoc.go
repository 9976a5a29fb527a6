package once

import (
	"slices"
	"strings"

	"fettle.dev/fettle/internal/lang/builtin"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/ui/cli"
)

// ActionsDoc lists what fettle run can be asked for.
type ActionsDoc struct {
	Format   string       `json:"format"` // fettle.actions/1
	Target   string       `json:"target"` // "" where there are several
	Actions  []ActionDoc  `json:"actions"`
	Commands []CommandRow `json:"commands"`
}

// ActionDoc is a module action, or a built-in action, in JSON documents.
type ActionDoc struct {
	Name    string     `json:"name"`
	Module  string     `json:"module,omitempty"`
	Doc     string     `json:"doc,omitempty"`
	Changes bool       `json:"changes"`
	DryRun  bool       `json:"dry_run"`
	Output  string     `json:"output,omitempty"` // json
	Params  []ParamDoc `json:"params"`
	Source  string     `json:"source"`            // file:line, or built in
	Targets []string   `json:"targets,omitempty"` // targets with the action; built in: all
}

// CommandRow is a command.
type CommandRow struct {
	Name   string     `json:"name"`
	Doc    string     `json:"doc,omitempty"`
	Params []ParamDoc `json:"params"`
	Parts  []string   `json:"parts"`
	Source string     `json:"source"`
}

// ParamDoc is a parameter of an action or a command in JSON documents.
type ParamDoc struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Doc      string `json:"doc,omitempty"`
	Required bool   `json:"required,omitempty"`
	Secret   bool   `json:"secret,omitempty"`
	Default  string `json:"default,omitempty"` // as JSON
}

// BuiltIn is the source of built-in actions and commands.
const BuiltIn = "built in"

func paramDocs(params []query.Param) []ParamDoc {
	out := []ParamDoc{}
	for _, p := range params {
		out = append(out, ParamDoc{p.Name, p.Type, p.Doc, p.Required, p.Secret, p.Default})
	}
	return out
}

func actionDocOf(a query.Action, targets []string) ActionDoc {
	d := ActionDoc{Name: a.Name, Module: a.Module, Doc: a.Doc, Changes: a.Changes, DryRun: a.DryRun,
		Params: paramDocs(a.Params), Source: BuiltIn, Targets: targets}
	if a.JSON {
		d.Output = "json"
	}
	if a.Range.File != "" {
		d.Source = cli.PlaceText(a.Range)
	}
	return d
}

func commandRowOf(c query.Command) CommandRow {
	d := CommandRow{Name: c.Name, Doc: c.Doc, Params: paramDocs(c.Params), Parts: c.Parts, Source: BuiltIn}
	if c.Range.File != "" {
		d.Source = cli.PlaceText(c.Range)
	}
	return d
}

// Called is how it is written behind fettle run, with its parameters.
func (d ActionDoc) Called() string {
	if d.Module == "" {
		return d.Name
	}
	return d.Module + "." + d.Name
}

// Usage are parameters as they are given.
func Usage(params []ParamDoc) string {
	var words []string
	for _, p := range params {
		value := "…"
		switch {
		case p.Default != "":
			value = p.Default
		case !p.Required:
			value = "(default)"
		}
		words = append(words, p.Name+"="+value)
	}
	return strings.Join(words, " ")
}

// List adds everything; if targets are selected, only their actions.
func (d *ActionsDoc) List(all query.Runnable, chosen []string) {
	d.Actions, d.Commands = []ActionDoc{}, []CommandRow{}
	for _, a := range all.Actions {
		has := a.Targets
		if chosen != nil {
			has = slices.DeleteFunc(slices.Clone(has), func(t string) bool { return !slices.Contains(chosen, t) })
		}
		if chosen == nil || len(has) > 0 {
			d.Actions = append(d.Actions, actionDocOf(a.Action, has))
		}
	}
	for _, b := range builtin.Actions() {
		d.Actions = append(d.Actions, actionDocOf(b.Action, nil))
	}
	for _, c := range all.Commands {
		d.Commands = append(d.Commands, commandRowOf(c))
	}
	for _, c := range builtin.Commands() {
		d.Commands = append(d.Commands, commandRowOf(c.Command))
	}
}
