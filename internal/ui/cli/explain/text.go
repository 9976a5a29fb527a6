package explain

import (
	"cmp"
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

func showExplanations(s *cli.Printer, items []explanation) {
	for i, e := range items {
		if i > 0 {
			s.Printf("\n")
		}
		s.Printf("%s\n", render.Escape(cmp.Or(e.Addr.String(), e.State)))
		s.Style().Pairs(s.App.Stdout, explanationPairs(s, e))
	}
}

func explanationPairs(s *cli.Printer, e explanation) []render.Pair {
	applied, wanted := e.Applied, e.Wanted
	switch {
	case applied == wanted && applied != "":
		wanted = ""
	case applied == "":
		applied = "not yet: fettle apply"
	case wanted == "":
		wanted = ""
	}
	source := e.Source
	if e.Line != "" {
		source += "\n" + strings.TrimSpace(e.Line)
	}
	pairs := []render.Pair{
		{Name: "  applied", Value: applied},
		{Name: "  wanted", Value: wanted},
		{Name: "  deferred", Value: e.Deferred},
		{Name: "  removed by", Value: e.By.String()},
		{Name: "  state", Value: e.State},
		{Name: "  source", Value: source},
	}
	for _, p := range e.Phases {
		pairs = append(pairs, render.Pair{Name: fmt.Sprintf("  phase %d", p.Phase),
			Value: p.State + "\n" + cmp.Or(p.Step, "(known after apply)")})
	}
	if c := e.Commit; c != nil {
		of := ""
		if e.Part != "" {
			of = "of " + cmp.Or(strings.TrimPrefix(e.Part, "."), "the root")
		}
		pairs = append(pairs, render.Pair{Name: "  commit", Value: cli.JoinWords(render.Style{}.Revision(*c), of)},
			render.Pair{Name: "  author", Value: c.Author})
	}
	if r := e.Run; r != nil {
		run := fmt.Sprintf("%d, %s at %s by %s", r.Run, r.Operation, s.Moment(r.Started), r.User)
		if e.First != r.Run && e.First > 0 {
			run += fmt.Sprintf("; managed since run %d", e.First)
		}
		pairs = append(pairs, render.Pair{Name: "  run", Value: run}, render.Pair{Name: "  before", Value: e.Origin})
	}
	return pairs
}
