package host

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/waves"
)

// RunFlags are the flags of every command that starts a run.
type RunFlags struct {
	viewFlags
	yes           bool
	confirmWithin time.Duration
	armed         bool // the command line says whether to arm the run
	// permits refuses a plan; nil permits all plans.
	permits                            func(*plan.Plan) error
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

// permitted returns the error of permits.
func (f *RunFlags) permitted(p *plan.Plan) error {
	if f.permits == nil {
		return nil
	}
	return f.permits(p)
}

type applyFlags struct {
	RunFlags
	many                   cli.ManyFlags
	dirty, noRepair, cross bool
	rollout                string // the strategy
	decisions              waves.Decisions
	windows                windowsFlag
}

func (f applyFlags) options(s *cli.Session) (executor.Options, error) {
	o, err := f.RunFlags.Options(s)
	o.CrossIrreversible = f.cross
	return o, err
}

// checkRollout refuses flags that contradict --rollout.
func (f applyFlags) checkRollout(s *cli.Session, saved bool) error {
	switch {
	case f.rollout == "" && f.decisions.Resume:
		return cli.Misused(cli.Refuse("Name the strategy: --rollout careful", "cannot use --resume without --rollout"))
	case f.rollout == "" && len(f.decisions.Approve)+len(f.decisions.Reject) > 0:
		return cli.Misused(cli.Refuse("Name the strategy: --rollout STRATEGY",
			"cannot use --approve or --reject without --rollout"))
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

// windowsFlag is the flag for changes outside of the windows of targets.
type windowsFlag struct{ reason string }

const ignoreWindows = "ignore-windows"

func (f *windowsFlag) flag(c *cobra.Command) {
	c.Flags().StringVar(&f.reason, ignoreWindows, "",
		"also change targets outside of their windows, for this `REASON`, which the history shows")
}

// check refuses a missing reason, and the flag for commands without windows.
func (f *windowsFlag) check(c *cobra.Command, windows bool) error {
	switch {
	case !c.Flags().Changed(ignoreWindows):
		return nil
	case strings.TrimSpace(f.reason) == "":
		return cli.Misused(cli.Refuse("Give a reason: --ignore-windows 'fix for CVE-2026-1234'",
			"cannot ignore windows without a reason"))
	case !windows:
		return cli.Misused(cli.Refuse("Omit --ignore-windows: only changes of targets of -t wait for windows",
			"cannot use --ignore-windows without -t"))
	}
	return nil
}
