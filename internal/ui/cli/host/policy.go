package host

import (
	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/ui/cli"
)

// withPolicy takes over what the repository says where the command line says
// nothing.
func (f *RunFlags) withPolicy(o executor.Options, p catalog.Policy) executor.Options {
	for _, x := range []struct {
		flag   cli.Choice
		policy string
		into   *string
	}{
		{f.onFailure, p.OnFailure, &o.OnFailure},
		{f.onCrash, p.OnCrash, &o.OnCrash},
		{f.onCheckFailure, p.OnCheckFailure, &o.OnCheckFailure},
	} {
		if !x.flag.Given && x.policy != "" {
			*x.into = x.policy
		}
	}
	return o
}

// repairs reports whether drift is repaired: --no-repair decides, also as --no-repair=false, otherwise
// the repository.
func repairs(c *cobra.Command, noRepair bool, p catalog.Policy) bool {
	if c.Flags().Changed("no-repair") {
		return !noRepair
	}
	return p.Drift != "report"
}

// Arms adds what only a command has whose runs can be armed.
func (f *RunFlags) Arms(c *cobra.Command) {
	cli.DurationVar(c.Flags(), &f.confirmWithin, "confirm-within", 0,
		"undo the run automatically unless \"fettle confirm\" confirms it within this `DURATION`, for example 60s; 0s: never undo, even if the run may lock you out")
	c.PreRun = func(c *cobra.Command, _ []string) { f.armed = c.Flags().Changed("confirm-within") }
}
