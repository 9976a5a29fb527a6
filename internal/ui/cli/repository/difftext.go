package repository

import (
	"strings"

	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/ui/cli"
)

// DiffDoc is the difference of two lists.
type DiffDoc struct {
	Format  string       `json:"format"` // fettle.diff/1
	Old     string       `json:"old"`    // a revision, a file
	New     string       `json:"new"`
	Targets []targetDiff `json:"targets"`
	// Examples are compared for groups in which no target is declared, without a hub.
	Examples []exampleTarget `json:"examples,omitempty"`
}

type targetDiff struct {
	Target string   `json:"target,omitempty"`
	Lines  []string `json:"lines"` // each behind + or -
}

func diffLinesOf(old, new step.List) []string {
	text := strings.TrimSuffix(step.FormatDiff(step.Diff(old, new)), "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

func showDiff(s *cli.Printer, doc DiffDoc, headings bool) error {
	if s.JSON {
		if err := s.Document(doc); err != nil {
			return err
		}
	}
	for i, t := range doc.Targets {
		if s.JSON {
			break
		}
		if headings {
			if i > 0 {
				s.Printf("\n")
			}
			s.Printf("%s\n", t.Target)
		}
		s.Style().ListDiff(s.App.Stdout, t.Lines)
	}
	if !s.JSON {
		showExamples(s, doc.Examples)
	}
	if len(doc.Targets) > 0 {
		return cli.ErrChanges
	}
	return nil
}
