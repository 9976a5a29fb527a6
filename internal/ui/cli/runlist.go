package cli

import (
	"context"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/lang/builtin"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/ui/render"
)

// actionsDoc lists what fettle run can be asked for.
type actionsDoc struct {
	Format   string       `json:"format"` // fettle.actions/1
	Target   string       `json:"target"` // "" where there are several
	Actions  []actionDoc  `json:"actions"`
	Commands []commandRow `json:"commands"`
}

type actionDoc struct {
	Name    string     `json:"name"`
	Module  string     `json:"module,omitempty"`
	Doc     string     `json:"doc,omitempty"`
	Changes bool       `json:"changes"`
	DryRun  bool       `json:"dry_run"`
	Output  string     `json:"output,omitempty"` // json
	Params  []paramDoc `json:"params"`
	Source  string     `json:"source"`            // file:line, or built in
	Targets []string   `json:"targets,omitempty"` // targets with the action; built in: all
}

// commandRow is a command.
type commandRow struct {
	Name   string     `json:"name"`
	Doc    string     `json:"doc,omitempty"`
	Params []paramDoc `json:"params"`
	Parts  []string   `json:"parts"`
	Source string     `json:"source"`
}

type paramDoc struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Doc      string `json:"doc,omitempty"`
	Required bool   `json:"required,omitempty"`
	Secret   bool   `json:"secret,omitempty"`
	Default  string `json:"default,omitempty"` // as JSON
}

// builtIn is the source of built-in actions and commands.
const builtIn = "built in"

func paramDocs(params []query.Param) []paramDoc {
	out := []paramDoc{}
	for _, p := range params {
		out = append(out, paramDoc{p.Name, p.Type, p.Doc, p.Required, p.Secret, p.Default})
	}
	return out
}

func actionDocOf(a query.Action, targets []string) actionDoc {
	d := actionDoc{Name: a.Name, Module: a.Module, Doc: a.Doc, Changes: a.Changes, DryRun: a.DryRun,
		Params: paramDocs(a.Params), Source: builtIn, Targets: targets}
	if a.JSON {
		d.Output = "json"
	}
	if a.Range.File != "" {
		d.Source = placeText(a.Range)
	}
	return d
}

func commandRowOf(c query.Command) commandRow {
	d := commandRow{Name: c.Name, Doc: c.Doc, Params: paramDocs(c.Params), Parts: c.Parts, Source: builtIn}
	if c.Range.File != "" {
		d.Source = placeText(c.Range)
	}
	return d
}

// called is how it is written behind fettle run, with its parameters.
func (d actionDoc) called() string {
	if d.Module == "" {
		return d.Name
	}
	return d.Module + "." + d.Name
}

// usage are parameters as they are given.
func usage(params []paramDoc) string {
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
func listRunnable(ctx context.Context, s *session) error {
	src, err := s.openChosen(ctx)
	if err == nil {
		err = src.none
	}
	if err != nil {
		return err
	}
	defer func() { _ = src.repo.Close() }()
	all, broken := runnable(s.printer, src)
	if broken != nil {
		return broken
	}
	doc := actionsDoc{Format: "fettle.actions/1", Target: s.target}
	var chosen []string
	if len(s.words) > 0 {
		list, err := selected(s, src, s.words)
		if err != nil {
			return err
		}
		chosen = targetNames(list)
	}
	doc.list(all, chosen)
	if s.json {
		return s.document(doc)
	}
	showRunnable(s.printer, doc)
	return nil
}

// list adds everything; if targets are selected, only their actions.
func (d *actionsDoc) list(all query.Runnable, chosen []string) {
	d.Actions, d.Commands = []actionDoc{}, []commandRow{}
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

func showRunnable(s *printer, doc actionsDoc) {
	var rows [][]string
	for _, a := range doc.Actions {
		who := "every target"
		switch {
		case a.Source != builtIn && len(a.Targets) == 0:
			who = "no target"
		case a.Source != builtIn && len(a.Targets) > fewTargets:
			who = render.Count(len(a.Targets), "target")
		case a.Source != builtIn:
			who = strings.Join(a.Targets, ", ")
		}
		rows = append(rows, []string{a.called(), usage(a.Params), who, a.Doc})
	}
	s.style().Table(s.app.Stdout, []string{"ACTION", "PARAMETERS", "TARGETS", "DESCRIPTION"}, rows)
	rows = nil
	for _, c := range doc.Commands {
		rows = append(rows, []string{c.Name, usage(c.Params), strings.Join(c.Parts, ", "), c.Doc})
	}
	s.printf("\n")
	s.style().Table(s.app.Stdout, []string{"COMMAND", "PARAMETERS", "PARTS", "DESCRIPTION"}, rows)
}
