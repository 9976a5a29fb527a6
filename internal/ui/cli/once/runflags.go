package once

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/ui/cli"
)

// RunningFlags are the flags of fettle run.
type RunningFlags struct {
	Timeout         time.Duration
	env, locks      []string
	Dir, User       string
	Shell, ReadOnly bool
	dryRun, list    bool
	many            cli.ManyFlags
}

func (f *RunningFlags) flags(c *cobra.Command) {
	f.many.Flags(c)
	fl := c.Flags()
	cli.SpanVar(fl, &f.Timeout, "timeout", executor.DefaultTimeout, "stop the program after this `DURATION`")
	fl.StringArrayVar(&f.env, "env", nil, "set `NAME=VALUE` in the environment of the program; may be repeated")
	fl.StringVar(&f.Dir, "dir", "", "start the program in this `DIR` (default: /)")
	fl.StringVar(&f.User, "user", "", "run the program as this `USER`")
	fl.BoolVar(&f.Shell, "shell", false, "join the words with spaces, and pass them to sh -c")
	fl.BoolVar(&f.ReadOnly, "read-only", false, "the program changes nothing, so it can run during an apply")
	f.LockFlag(c)
	fl.BoolVar(&f.list, "list", false,
		"list the module actions and the declared commands, of all targets or of the selected targets (-t)")
	fl.BoolVar(&f.dryRun, "dry-run", false, "show what would run, and where")
}

// LockFlag adds the flag --lock.
func (f *RunningFlags) LockFlag(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.locks, "lock", nil,
		"run the program only with a slot of the lock `NAME`; may be repeated. See docs/coordination.md")
}

// HasLocks reports whether the program needs a slot of a lock.
func (f RunningFlags) HasLocks() bool { return len(f.locks) > 0 }

// Command is an ad-hoc command of the words behind --.
func (f RunningFlags) Command(words []string) (executor.Command, error) {
	for _, e := range f.env {
		if name, _, ok := strings.Cut(e, "="); !ok || name == "" {
			return executor.Command{}, cli.Refuse("Write it as --env NAME=VALUE", "cannot read --env: it has no name and value")
		}
	}
	if f.Dir != "" && !strings.HasPrefix(f.Dir, "/") {
		return executor.Command{}, cli.Refuse("Write it from the root of the target on, such as --dir /srv",
			fmt.Sprintf("cannot use --dir %q: it is not absolute", f.Dir))
	}
	locks, err := f.neededLocks()
	if err != nil {
		return executor.Command{}, err
	}
	if f.Shell {
		words = []string{"sh", "-c", strings.Join(words, " ")}
	}
	return executor.Command{Argv: [][]string{words}, Env: f.env, Dir: f.Dir, User: f.User, Timeout: f.Timeout,
		ReadOnly: f.ReadOnly, Locks: locks}, nil
}

// neededLocks returns the locks of --lock, sorted. All hosts acquire slots in this order.
func (f RunningFlags) neededLocks() ([]string, error) {
	locks := slices.Compact(slices.Sorted(slices.Values(f.locks)))
	if len(locks) > 0 && f.ReadOnly {
		return nil, cli.Refuse("Remove one of the two flags",
			"cannot use --lock with --read-only: a program that changes nothing needs no lock")
	}
	if err := step.CheckLocks(locks); err != nil {
		return nil, cli.Refuse("List the locks: fettle lock list", fmt.Sprintf("cannot use --lock: %s", err))
	}
	return locks, nil
}
