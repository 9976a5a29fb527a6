package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/amount"
	"fettle.dev/fettle/internal/fleet/fanout"
)

// ManyFlags are the flags of commands that work on many targets at once.
type ManyFlags struct {
	parallel         int
	Batch, MaxFailed string
}

// perProcessor is how many targets at once a processor here keeps up with: for each it
// encrypts, compiles and compares.
const perProcessor = 25

// ManyMark on a command means that it accepts a selection of targets.
const ManyMark = "many"

// Flags defines the flags.
func (f *ManyFlags) Flags(c *cobra.Command) {
	c.Annotations = map[string]string{ManyMark: "yes"}
	NumberVar(c.Flags(), &f.parallel, "parallel", 0, 0,
		"work on this `NUMBER` of targets at once (default: 50, or 25 for each CPU of this host if that is less)")
	amountVar(c, &f.Batch, "batch", "finish this `NUMBER|PERCENT` of targets before others begin, such as 5 or 10%")
	amountVar(c, &f.MaxFailed, "max-failed",
		"begin no further targets if more than this `NUMBER|PERCENT` failed, such as 0 or 10%")
}

// Options reads the options of a fan-out. The error is one of the command line.
func (f *ManyFlags) Options() (fanout.Options, error) {
	o := fanout.Options{Parallel: f.parallel}
	if f.parallel == 0 {
		o.Parallel = min(fanout.DefaultParallel, perProcessor*runtime.NumCPU())
	}
	var err error
	if f.Batch != "" {
		if o.Batch, err = amount.Parse(f.Batch); err != nil {
			return o, fmt.Errorf("cannot use --batch: %w", err)
		}
	}
	if f.MaxFailed != "" {
		most, err := amount.Parse(f.MaxFailed)
		if err != nil {
			return o, fmt.Errorf("cannot use --max-failed: %w", err)
		}
		o.MaxFailed = &most
	}
	return o, nil
}
