package once

import (
	"context"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/lang/builtin"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
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

// listRunnable lists the actions and commands of the targets of -t, otherwise of all targets.
func listRunnable(ctx context.Context, s *cli.Session) error {
	src, err := s.HubAccess.Open(ctx)
	if err == nil {
		err = src.None
	}
	if err != nil {
		return err
	}
	defer func() { _ = src.Repo.Close() }()
	all, broken := Runnable(s.Printer, src)
	if broken != nil {
		return broken
	}
	doc := ActionsDoc{Format: "fettle.actions/1", Target: s.Target}
	var chosen []string
	if len(s.Words) > 0 {
		list, err := cli.Selected(s, src, s.Words)
		if err != nil {
			return err
		}
		chosen = cli.TargetNames(list)
	}
	doc.List(all, chosen)
	if s.JSON {
		return s.Document(doc)
	}
	showRunnable(s.Printer, doc)
	return nil
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

func showRunnable(s *cli.Printer, doc ActionsDoc) {
	var rows [][]string
	for _, a := range doc.Actions {
		who := "every target"
		switch {
		case a.Source != BuiltIn && len(a.Targets) == 0:
			who = "no target"
		case a.Source != BuiltIn && len(a.Targets) > fewTargets:
			who = render.Count(len(a.Targets), "target")
		case a.Source != BuiltIn:
			who = strings.Join(a.Targets, ", ")
		}
		rows = append(rows, []string{a.Called(), Usage(a.Params), who, a.Doc})
	}
	s.Style().Table(s.App.Stdout, []string{"ACTION", "PARAMETERS", "TARGETS", "DESCRIPTION"}, rows)
	rows = nil
	for _, c := range doc.Commands {
		rows = append(rows, []string{c.Name, Usage(c.Params), strings.Join(c.Parts, ", "), c.Doc})
	}
	s.Printf("\n")
	s.Style().Table(s.App.Stdout, []string{"COMMAND", "PARAMETERS", "PARTS", "DESCRIPTION"}, rows)
}
