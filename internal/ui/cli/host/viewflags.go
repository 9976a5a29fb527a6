package host

import (
	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

// viewFlags are the flags of every command that shows a plan.
type viewFlags struct {
	diff, noDiff, Verify bool
	runGuards, noGuards  bool
	full                 bool
}

func (v *viewFlags) Flags(c *cobra.Command) {
	c.Flags().BoolVar(&v.diff, "diff", false, "show differences of content (default: on a terminal)")
	c.Flags().BoolVar(&v.noDiff, "no-diff", false, "do not show differences of content")
	c.Flags().BoolVar(&v.Verify, "verify", false, "read every byte instead of trusting times and sizes")
	c.Flags().BoolVar(&v.runGuards, "run-guards", false,
		"run the guards of commands (unless, only_if) on the host, not isolated from it")
	c.Flags().BoolVar(&v.noGuards, "no-guards", false, "run no guards for the plan: their results are unknown")
	c.Flags().BoolVar(&v.full, "full", false, "list each change of a long plan instead of groups with counts")
	c.MarkFlagsMutuallyExclusive("diff", "no-diff")
	c.MarkFlagsMutuallyExclusive("run-guards", "no-guards")
}

// Guards returns how guards run before the plan.
func (v *viewFlags) Guards() executor.Guards {
	switch {
	case v.runGuards:
		return executor.HostGuards
	case v.noGuards:
		return executor.NoGuards
	}
	return executor.IsolatedGuards
}

// diffLines is how much of each content diff is shown.
const diffLines = 40

// Wants tells whether content is compared at all: it costs reading it.
func (v *viewFlags) Wants(s *cli.Printer) bool {
	return !v.noDiff && (v.diff || s.JSON || s.Verbose || s.App.Terminal.Out)
}

func (v *viewFlags) options(s *cli.Printer) render.PlanOptions {
	o := render.PlanOptions{Verbose: s.Verbose, Grouped: s.App.Terminal.Out && !v.full}
	if v.Wants(s) {
		o.DiffLines = diffLines
		if s.Verbose {
			o.DiffLines = -1
		}
	}
	return o
}

// PlanFlags are the flags of commands that plan.
type PlanFlags struct {
	viewFlags
	many     cli.ManyFlags
	Out      string
	NoRepair bool
}

// tellNotes shows which parts of the state directory were lost or damaged and rebuilt.
func tellNotes(s *cli.Printer, p *plan.Plan) {
	if p == nil {
		return
	}
	for _, n := range p.Notes {
		s.ErrStyle().Warning(s.App.Stderr, n)
	}
}
