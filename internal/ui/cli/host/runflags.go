package host

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/ui/cli"
)

// RunFlags are the flags of every command that starts a run.
type RunFlags struct {
	viewFlags
	yes                                bool
	confirmWithin                      time.Duration
	armed                              bool // the command line says whether to arm the run
	onFailure, onCrash, onCheckFailure cli.Choice
}

// Flags defines the flags.
func (f *RunFlags) Flags(c *cobra.Command) {
	f.viewFlags.Flags(c)
	f.onFailure = cli.Choice{Value: "stop", Of: []string{"stop", "undo"}}
	f.onCrash = cli.Choice{Value: "undo", Of: []string{"undo", "finish"}}
	f.onCheckFailure = cli.Choice{Value: "keep", Of: []string{"keep", "undo"}}
	cli.YesFlag(c, &f.yes)
	c.Flags().Var(&f.onFailure, "on-failure", "when a step fails: stop, or undo the run")
	c.Flags().Var(&f.onCrash, "on-crash", "after a crash: undo the run, or finish it")
	c.Flags().Var(&f.onCheckFailure, "on-check-failure", "when a check fails: keep the changes, or undo the run")
}

// Options reads the options of a run. The error is one of the command line.
func (f *RunFlags) Options(s *cli.Session) (executor.Options, error) {
	o := s.RunOptions()
	o.OnFailure, o.OnCrash, o.OnCheckFailure = f.onFailure.Value, f.onCrash.Value,
		catalog.StoredCheckFailure(f.onCheckFailure.Value)
	o.ConfirmWithin = f.confirmWithin
	if f.confirmWithin < 0 {
		return o, cli.Refuse("Give a time such as --confirm-within 60s",
			fmt.Sprintf("cannot wait %s for a confirmation", f.confirmWithin))
	}
	return o, nil
}

type applyFlags struct {
	RunFlags
	many                   cli.ManyFlags
	dirty, noRepair, cross bool
	rollout                string // the strategy
	resume                 bool
}

func (f applyFlags) options(s *cli.Session) (executor.Options, error) {
	o, err := f.RunFlags.Options(s)
	o.CrossIrreversible = f.cross
	return o, err
}

// checkRollout refuses flags that contradict --rollout.
func (f applyFlags) checkRollout(s *cli.Session, saved bool) error {
	switch {
	case f.rollout == "" && f.resume:
		return cli.Misused(cli.Refuse("Name the strategy: --rollout careful", "cannot use --resume without --rollout"))
	case f.rollout == "":
		return nil
	case saved:
		return cli.Misused(cli.Refuse("Omit the file", "cannot use --rollout with saved plans"))
	case !s.IsMany():
		return cli.Misused(cli.Refuse("Select several targets, for example -t 'web*' or -t @all",
			"cannot use --rollout for one target"))
	case f.many.Batch != "" || f.many.MaxFailed != "":
		return cli.Misused(cli.Refuse("Omit --batch and --max-failed: the strategy sets these limits",
			"cannot use --batch or --max-failed with --rollout"))
	}
	return nil
}

type rollbackFlags struct {
	RunFlags
	many  cli.ManyFlags
	cross bool
	skip  bool
}
