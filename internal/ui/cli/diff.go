package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/step"
)

// diffDoc is the difference of two lists.
type diffDoc struct {
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

const workTreeName = "the files as they are"

func newDiff(s *session) *cobra.Command {
	all, fleet := false, false
	c := &cobra.Command{
		Use:   "diff [REV [REV]]",
		Short: "Show the steps that differ between two revisions",
		Long: `Compiles a target at two revisions, and prints the removed (-) and the added (+)
steps. With one revision, the command compares it with the current files.
Without a revision, it compares the last commit with the current files.

--all and --fleet compare every target of either revision. --fleet prints a
difference that several targets share only once. Both options include the
targets of the fleet if you have a login, or if you run the command on the hub.
--via ssh excludes these targets.

Without the targets of the fleet, a group that selects by label may have no
declared target. The command then compares one example with the labels of the
group, and lists the examples.

The command reads only the facts of hosts, and not their state.

Exits with code 2 if there are differences.`,
		Example: "  fettle diff\n  fettle diff main\n  fettle diff v1.3 v1.4 --all\n  fettle diff v1.3 v1.4 --fleet",
		Args:    args(0, 2),
		RunE: func(c *cobra.Command, a []string) error {
			return s.paged(c.Context(), func() error { return diff(c.Context(), s, a, all, fleet) })
		},
	}
	c.Flags().BoolVar(&all, "all", false, "compare every target")
	c.Flags().BoolVar(&fleet, "fleet", false, "compare every target; show targets with the same difference together")
	return c
}

func diff(ctx context.Context, s *session, a []string, all, fleet bool) error {
	revs := append(slices.Clone(a), "", "")[:2]
	if len(a) == 0 {
		revs[0] = "HEAD"
	}
	if len(a) < 2 {
		revs[1] = s.rev
	}
	var sides [2]*source
	for i, rev := range revs {
		src, err := s.openSource(ctx, rev)
		if err != nil {
			return err
		}
		defer src.repo.Close()
		sides[i] = src
	}
	examples, err := comparable(ctx, s, sides, all || fleet)
	if err != nil {
		return err
	}
	if fleet {
		return diffFleet(ctx, s, sides, fleetDiffDoc{Old: named(revs[0]), New: named(revs[1]), Examples: examples})
	}
	targets, err := diffTargets(s, sides, all)
	if err != nil {
		return err
	}
	doc := diffDoc{Format: "fettle.diff/1", Old: named(revs[0]), New: named(revs[1]), Targets: []targetDiff{},
		Examples: examplesAmong(examples, targets)}
	for _, t := range targets {
		lines, err := diffTarget(ctx, s, sides, t)
		if err != nil {
			return err
		}
		if len(lines) > 0 {
			doc.Targets = append(doc.Targets, targetDiff{t, lines})
		}
	}
	return showDiff(s.printer, doc, all)
}

// comparable adds targets that the repository does not declare, if they are compared.
func comparable(ctx context.Context, s *session, sides [2]*source, every bool) ([]exampleTarget, error) {
	for _, side := range sides {
		if every || s.target == "" {
			break
		}
		if names, err := s.targets(side); err != nil || slices.Contains(names, s.target) {
			return nil, err
		}
	}
	if !every && s.target == "" {
		return nil, nil
	}
	return populate(ctx, s, sides)
}

// examplesAmong are the examples that were compared.
func examplesAmong(all []exampleTarget, compared []string) []exampleTarget {
	return slices.DeleteFunc(all, func(e exampleTarget) bool { return !slices.Contains(compared, e.Target) })
}

func named(rev string) string {
	if rev == "" {
		return workTreeName
	}
	return rev
}

// diffTargets are the targets to compare: one, or all that either side has.
func diffTargets(s *session, sides [2]*source, all bool) ([]string, error) {
	if !all && s.target == "" {
		t, err := s.chooseTarget(sides[1])
		return []string{t}, err
	}
	var names []string
	for _, side := range sides {
		more, err := s.targets(side)
		if err != nil {
			return nil, err
		}
		names = append(names, more...)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	switch {
	case all:
		return names, nil
	case !slices.Contains(names, s.target): // one side may lack it: it is new, or gone
		return nil, unknownTarget(s.target, names)
	}
	return []string{s.target}, nil
}

func diffTarget(ctx context.Context, s *session, sides [2]*source, target string) ([]string, error) {
	var lists [2]step.List
	for i, side := range sides {
		names, err := s.targets(side)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(names, target) {
			continue // not yet, or no longer, a target: an empty list
		}
		res, err := compileTarget(ctx, s, side.tree, target)
		if err != nil {
			return nil, err
		}
		lists[i] = res.List
	}
	return diffLinesOf(lists[0], lists[1]), nil
}

func diffLinesOf(old, new step.List) []string {
	text := strings.TrimSuffix(step.FormatDiff(step.Diff(old, new)), "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

func showDiff(s *printer, doc diffDoc, headings bool) error {
	if s.json {
		if err := s.document(doc); err != nil {
			return err
		}
	}
	for i, t := range doc.Targets {
		if s.json {
			break
		}
		if headings {
			if i > 0 {
				s.printf("\n")
			}
			s.printf("%s\n", t.Target)
		}
		s.style().ListDiff(s.app.Stdout, t.Lines)
	}
	if !s.json {
		showExamples(s, doc.Examples)
	}
	if len(doc.Targets) > 0 {
		return errChanges
	}
	return nil
}
