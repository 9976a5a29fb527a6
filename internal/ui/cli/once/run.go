// Package once has the commands for one-time operations, which are not part of the applied state: to run
// programs and actions, copy files, reboot, wait, and read facts.
//
//	cli.Group{Commands: []cli.NewCommand{once.NewRun, once.NewCopy}}
package once

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

// RunningFlags are the flags of fettle run.
type RunningFlags struct {
	Timeout         time.Duration
	env             []string
	Dir, User       string
	Shell, ReadOnly bool
	dryRun, list    bool
	many            cli.ManyFlags
}

// NewRun builds the command run, to run a program, a module action or a declared command.
func NewRun(s *cli.Session) *cobra.Command {
	var f RunningFlags
	c := &cobra.Command{
		Use:   "run {-- PROGRAM [WORD]… | NAME [NAME=VALUE]…}",
		Short: "Run a program, a module action or a declared command",
		Long: `Runs a program with its arguments, without a shell unless --shell is given. On
few targets the output is shown line by line while it runs, with the name of the
target. On many targets it is shown when all have ended, and equal outputs are
shown once. -v always shows the lines.

Exits with 0 if the program exits with 0 on every target. Otherwise it exits
with the exit code of the program on a single target, and with 1 on several
targets. If you interrupt fettle run, or the program takes longer than
--timeout, the whole process tree is stopped.

Without --, NAME is a module action or a declared command. Both are declared in
the repository, or built in; --list lists them, and NAME=VALUE sets a parameter.
A module action runs on the targets of -t. A declared command runs its parts one
after another, on the targets that each part selects; -t restricts these
targets. --dry-run runs the dry run of an action if it has one. Otherwise it
shows the programs and their targets. Values of secret parameters are not
stored; @FILE reads a value from a file, @- from a pipe.

No plan contains the program, and no rollback undoes its effects. The history of
the target records it with the end of the output (fettle log, fettle show c12).
If an apply is running, fettle run does not wait and exits with 4. With
--read-only, you assert that the program changes nothing: it may run during an
apply, and on a frozen host. --ignore-freeze runs any program on a frozen host.`,
		Example: `  fettle run -- systemctl status nginx
  fettle run -t 'web*' -- uptime

  fettle run -t 'web*' --read-only --timeout 10s -- df -h /

  fettle run -t web1 --shell -- 'journalctl -u nginx | tail -n 3'
  fettle run -t 'web*' --dry-run -- systemctl restart nginx

  fettle run -t web1 --list
  fettle run -t 'web*' drain seconds=60
  fettle run -t 'web*' rolling-restart name=nginx batch=1`,
		Args: cli.Args(0, -1),
		RunE: func(c *cobra.Command, a []string) error { return runProgram(s, c, f, a) },
	}
	f.many.Flags(c)
	fl := c.Flags()
	cli.SpanVar(fl, &f.Timeout, "timeout", executor.DefaultTimeout, "stop the program after this `DURATION`")
	fl.StringArrayVar(&f.env, "env", nil, "set `NAME=VALUE` in the environment of the program; may be repeated")
	fl.StringVar(&f.Dir, "dir", "", "start the program in this `DIR` (default: /)")
	fl.StringVar(&f.User, "user", "", "run the program as this `USER`")
	fl.BoolVar(&f.Shell, "shell", false, "join the words with spaces, and pass them to sh -c")
	fl.BoolVar(&f.ReadOnly, "read-only", false, "the program changes nothing, so it can run during an apply")
	fl.BoolVar(&f.list, "list", false,
		"list the module actions and the declared commands, of all targets or of the selected targets (-t)")
	s.FrozenFlag(c)
	fl.BoolVar(&f.dryRun, "dry-run", false, "show what would run, and where")
	return c
}

func runProgram(s *cli.Session, c *cobra.Command, f RunningFlags, a []string) error {
	switch {
	case f.list:
		if err := cli.AllowOnly(c, "--list", cli.CompileFlags(), []string{"target", "via"}); err != nil {
			return err
		}
		return listRunnable(c.Context(), s)
	case f.Timeout <= 0:
		return cli.Refuse("Give a time such as --timeout 30s", fmt.Sprintf("cannot run a command for %s", f.Timeout))
	case len(a) == 0 || c.ArgsLenAtDash() > 0:
		return cli.Refuse(
			"Write: fettle run -- PROGRAM [WORD]…\nOr an action or a command by its name: fettle run NAME [NAME=VALUE]…",
			"cannot determine the program: it must follow --")
	case c.ArgsLenAtDash() < 0:
		return runNamed(c.Context(), s, f, a)
	}
	if err := cli.AllowOnly(c, "-- PROGRAM", cli.ChangeFlags()); err != nil {
		return err
	}
	cmd, err := f.Command(a)
	if err != nil {
		return err
	}
	return runCommand(c.Context(), s, f, cmd, false)
}

// runCommand runs a command where -t says. json tells that it prints JSON.
func runCommand(ctx context.Context, s *cli.Session, f RunningFlags, cmd executor.Command, json bool) error {
	if s.IsMany() {
		return runMany(ctx, s, f, cmd, json)
	}
	return runOne(ctx, s, f, cmd, json)
}

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
	if f.Shell {
		words = []string{"sh", "-c", strings.Join(words, " ")}
	}
	return executor.Command{Argv: [][]string{words}, Env: f.env, Dir: f.Dir, User: f.User, Timeout: f.Timeout,
		ReadOnly: f.ReadOnly}, nil
}

// CommandDoc is a command that was run, or would be.
type CommandDoc struct {
	Format   string        `json:"format"` // fettle.command/1
	ID       int           `json:"id"`     // in the history of commands: c12; 0 for a dry run
	Action   string        `json:"action,omitempty"`
	Argv     [][]string    `json:"argv"`
	Targets  []string      `json:"targets,omitempty"` // of a dry run
	DryRun   bool          `json:"dry_run,omitempty"`
	Exit     int           `json:"exit"` // -1 when a signal or the timeout ended it
	Signal   string        `json:"signal,omitempty"`
	TimedOut bool          `json:"timed_out,omitempty"`
	Stdout   string        `json:"stdout"`
	Stderr   string        `json:"stderr"`
	Duration time.Duration `json:"duration_ns"`
}

func commandJSON(c executor.Command, r *executor.CommandResult) CommandDoc {
	return CommandDoc{Format: "fettle.command/1", ID: r.ID, Action: c.Action, Argv: c.Argv, Exit: r.Exit, Signal: r.Signal,
		TimedOut: r.TimedOut, Stdout: r.Stdout, Stderr: r.Stderr, Duration: r.Duration}
}

// wouldRun says what a dry run leaves out.
func wouldRun(s *cli.Printer, c executor.Command, targets []string) error {
	if s.JSON {
		return s.Document(CommandDoc{Format: "fettle.command/1", Action: c.Action, Argv: c.Argv, Targets: targets,
			DryRun: true})
	}
	on := "this host"
	if len(targets) > 0 {
		on = render.Count(len(targets), "target") + ": " + strings.Join(targets, ", ")
	}
	s.Printf("Would run on %s\n", render.Escape(on))
	for _, argv := range c.Argv {
		s.Printf("  %s\n", render.Escape(cli.WordsText(argv)))
	}
	return nil
}

// runOne runs a command on a single machine. It prints the output as it is, or as a table if it is
// JSON.
func runOne(ctx context.Context, s *cli.Session, f RunningFlags, cmd executor.Command, json bool) error {
	if f.dryRun {
		var on []string
		if name := s.Named(); name != "" {
			on = []string{name}
		}
		return wouldRun(s.Printer, cmd, on)
	}
	return withNamed(ctx, s, cmd.ReadOnly, func(x executor.Executor) error {
		cx, ok := x.(executor.Commander)
		if !ok {
			return errors.New("cannot run commands there: it only accepts step lists")
		}
		show := passOn(s.Printer)
		if json {
			show = nil
		}
		res, err := cx.Command(ctx, cmd, s.RunOptions(), show)
		s.RecordInHistory(map[string]string{s.Named(): outcomeOfCommand(res, err).Status.String()})
		if errors.Is(err, context.Canceled) {
			return cli.WithHint(err, "Its effects until then remain. See the history: fettle log")
		}
		if res == nil || err != nil {
			return err
		}
		switch {
		case s.JSON:
			if err := s.Document(commandJSON(cmd, res)); err != nil {
				return err
			}
		case json:
			if err := showJSON(s.Printer, res); err != nil {
				return err
			}
		}
		return endOfOne(s.Printer, res, cmd)
	})
}

// withNamed is withState, or withExecutor for a read-only command.
func withNamed(ctx context.Context, s *cli.Session, looks bool, fn func(executor.Executor) error) error {
	if looks {
		return cli.WithExecutor(ctx, s, fn)
	}
	return cli.WithState(ctx, s, fn)
}

// passOn gives output to this command's own streams.
func passOn(s *cli.Printer) func(executor.Output) {
	if s.JSON {
		return nil
	}
	return func(o executor.Output) {
		w := s.App.Stdout
		if o.Stderr {
			w = s.App.Stderr
		}
		_, _ = w.Write(o.Text) // the exit code reports a closed pipe
	}
}

// endOfOne is the exit of a command on one target.
func endOfOne(s *cli.Printer, r *executor.CommandResult, c executor.Command) error {
	switch {
	case r.OK():
		return nil
	case r.TimedOut:
		return cli.Refuse("Allow more time: --timeout TIME",
			fmt.Sprintf("cannot continue: the command took longer than %s, and was stopped", render.Duration(c.Timeout)))
	case r.Exit < 0:
		return fmt.Errorf("cannot continue: the command was stopped by a signal: %s", r.Signal)
	}
	return cli.Reported(cli.ProgramExit(r.Exit))
}
