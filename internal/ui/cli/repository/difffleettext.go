package repository

import (
	"fmt"

	"fettle.dev/fettle/internal/fleetdiff"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

// FleetDiffDoc is the difference of two revisions for many targets. A difference that several targets
// share appears once.
type FleetDiffDoc struct {
	Format  string           `json:"format"` // fettle.fleetdiff/1
	Old     string           `json:"old"`
	New     string           `json:"new"`
	Targets int              `json:"targets"` // that were compared
	Groups  []fleetdiff.Diff `json:"groups"`  // the largest first
	// Examples are compared for groups in which no target is declared, without a hub.
	Examples []exampleTarget `json:"examples,omitempty"`
}

// exampleTarget represents any target of a group in which no target is declared.
type exampleTarget struct {
	Target string `json:"target"`
	Group  string `json:"group"`
}

func showFleetDiff(s *cli.Printer, doc FleetDiffDoc) error {
	if s.JSON {
		if err := s.Document(doc); err != nil {
			return err
		}
	} else {
		changed := 0
		for _, d := range doc.Groups {
			changed += len(d.Targets)
			s.Printf("%s\n", render.Folded(d.Targets))
			s.Style().ListDiff(s.App.Stdout, d.Lines)
			s.Printf("\n")
		}
		s.Printf("%d of %d targets differ, in %d ways\n", changed, doc.Targets, len(doc.Groups))
		showExamples(s, doc.Examples)
	}
	if len(doc.Groups) > 0 {
		return cli.ErrChanges
	}
	return nil
}

// showExamples says which of the compared targets are examples.
func showExamples(s *cli.Printer, all []exampleTarget) {
	if len(all) == 0 {
		return
	}
	var names []string
	for _, e := range all {
		names = append(names, e.Target)
	}
	fmt.Fprintf(s.App.Stderr, "Without a hub, each group without a declared target is shown with one example: %s.\n",
		render.Folded(names))
}
