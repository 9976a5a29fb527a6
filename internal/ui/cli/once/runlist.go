package once

import (
	"context"
	"strings"

	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

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
