package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/ui/render"
)

// runningFlags are the flags of fettle run.
type runningFlags struct {
	timeout         time.Duration
	env             []string
	dir, user       string
	shell, readOnly bool
	dryRun, list    bool
	many            manyFlags
}

func newRun(s *session) *cobra.Command {
	var f runningFlags
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
		Args: args(0, -1),
		RunE: func(c *cobra.Command, a []string) error { return runProgram(s, c, f, a) },
	}
	f.many.flags(c)
	fl := c.Flags()
	spanVar(fl, &f.timeout, "timeout", executor.DefaultTimeout, "stop the program after this `DURATION`")
	fl.StringArrayVar(&f.env, "env", nil, "set `NAME=VALUE` in the environment of the program; may be repeated")
	fl.StringVar(&f.dir, "dir", "", "start the program in this `DIR` (default: /)")
	fl.StringVar(&f.user, "user", "", "run the program as this `USER`")
	fl.BoolVar(&f.shell, "shell", false, "join the words with spaces, and pass them to sh -c")
	fl.BoolVar(&f.readOnly, "read-only", false, "the program changes nothing, so it can run during an apply")
	fl.BoolVar(&f.list, "list", false,
		"list the module actions and the declared commands, of all targets or of the selected targets (-t)")
	s.frozenFlag(c)
	fl.BoolVar(&f.dryRun, "dry-run", false, "show what would run, and where")
	return c
}

// frozenFlag defines --ignore-freeze, for commands that change machines outside of runs.
func (f *policyFlags) frozenFlag(c *cobra.Command) {
	c.Flags().BoolVar(&f.ignoreFreeze, "ignore-freeze", false, "work on frozen hosts as well")
}

func runProgram(s *session, c *cobra.Command, f runningFlags, a []string) error {
	switch {
	case f.list:
		if err := aside(c, "--list", compileFlags(), []string{"target", "via"}); err != nil {
			return err
		}
		return listRunnable(c.Context(), s)
	case f.timeout <= 0:
		return refuse("Give a time such as --timeout 30s", fmt.Sprintf("cannot run a command for %s", f.timeout))
	case len(a) == 0 || c.ArgsLenAtDash() > 0:
		return refuse(
			"Write: fettle run -- PROGRAM [WORD]…\nOr an action or a command by its name: fettle run NAME [NAME=VALUE]…",
			"cannot determine the program: it must follow --")
	case c.ArgsLenAtDash() < 0:
		return runNamed(c.Context(), s, f, a)
	}
	if err := aside(c, "-- PROGRAM", changeFlags()); err != nil {
		return err
	}
	cmd, err := f.command(a)
	if err != nil {
		return err
	}
	return runCommand(c.Context(), s, f, cmd, false)
}

// runCommand runs a command where -t says. json tells that it prints JSON.
func runCommand(ctx context.Context, s *session, f runningFlags, cmd executor.Command, json bool) error {
	if s.isMany() {
		return runMany(ctx, s, f, cmd, json)
	}
	return runOne(ctx, s, f, cmd, json)
}

// command is an ad-hoc command of the words behind --.
func (f runningFlags) command(words []string) (executor.Command, error) {
	for _, e := range f.env {
		if name, _, ok := strings.Cut(e, "="); !ok || name == "" {
			return executor.Command{}, refuse("Write it as --env NAME=VALUE", "cannot read --env: it has no name and value")
		}
	}
	if f.dir != "" && !strings.HasPrefix(f.dir, "/") {
		return executor.Command{}, refuse("Write it from the root of the target on, such as --dir /srv",
			fmt.Sprintf("cannot use --dir %q: it is not absolute", f.dir))
	}
	if f.shell {
		words = []string{"sh", "-c", strings.Join(words, " ")}
	}
	return executor.Command{Argv: [][]string{words}, Env: f.env, Dir: f.dir, User: f.user, Timeout: f.timeout,
		ReadOnly: f.readOnly}, nil
}

// errExit is the exit code of a command that ran on one target.
type errExit int

func (e errExit) Error() string { return fmt.Sprintf("the command exited with %d", int(e)) }

// commandDoc is a command that was run, or would be.
type commandDoc struct {
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

func commandJSON(c executor.Command, r *executor.CommandResult) commandDoc {
	return commandDoc{Format: "fettle.command/1", ID: r.ID, Action: c.Action, Argv: c.Argv, Exit: r.Exit, Signal: r.Signal,
		TimedOut: r.TimedOut, Stdout: r.Stdout, Stderr: r.Stderr, Duration: r.Duration}
}

// wouldRun says what a dry run leaves out.
func wouldRun(s *printer, c executor.Command, targets []string) error {
	if s.json {
		return s.document(commandDoc{Format: "fettle.command/1", Action: c.Action, Argv: c.Argv, Targets: targets,
			DryRun: true})
	}
	on := "this host"
	if len(targets) > 0 {
		on = render.Count(len(targets), "target") + ": " + strings.Join(targets, ", ")
	}
	s.printf("Would run on %s\n", render.Escape(on))
	for _, argv := range c.Argv {
		s.printf("  %s\n", render.Escape(wordsText(argv)))
	}
	return nil
}

// wordsText returns a command for users, with quotes around words with blanks.
func wordsText(argv []string) string {
	out := make([]string, len(argv))
	for i, w := range argv {
		if out[i] = w; w == "" || strings.ContainsAny(w, " \t\n'\"\\|&;<>()$`*?") {
			out[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}

// runOne runs a command on a single machine. It prints the output as it is, or as a table if it is
// JSON.
func runOne(ctx context.Context, s *session, f runningFlags, cmd executor.Command, json bool) error {
	if f.dryRun {
		var on []string
		if name := s.named(); name != "" {
			on = []string{name}
		}
		return wouldRun(s.printer, cmd, on)
	}
	return withNamed(ctx, s, cmd.ReadOnly, func(x executor.Executor) error {
		cx, ok := x.(executor.Commander)
		if !ok {
			return errors.New("cannot run commands there: it only accepts step lists")
		}
		show := passOn(s.printer)
		if json {
			show = nil
		}
		res, err := cx.Command(ctx, cmd, s.runOptions(), show)
		s.note(map[string]string{s.named(): outcomeOfCommand(res, err).status.String()})
		if errors.Is(err, context.Canceled) {
			return withHint(err, "Its effects until then remain. See the history: fettle log")
		}
		if res == nil || err != nil {
			return err
		}
		switch {
		case s.json:
			if err := s.document(commandJSON(cmd, res)); err != nil {
				return err
			}
		case json:
			if err := showJSON(s.printer, res); err != nil {
				return err
			}
		}
		return endOfOne(s.printer, res, cmd)
	})
}

// withNamed is withState, or withExecutor for a read-only command.
func withNamed(ctx context.Context, s *session, looks bool, fn func(executor.Executor) error) error {
	if looks {
		return withExecutor(ctx, s, fn)
	}
	return withState(ctx, s, fn)
}

// named is the machine that is worked on as it was named; "" for this one.
func (s *session) named() string {
	if s.connectOpts.ssh != "" {
		return s.connectOpts.ssh
	}
	return s.target
}

// passOn gives output to this command's own streams.
func passOn(s *printer) func(executor.Output) {
	if s.json {
		return nil
	}
	return func(o executor.Output) {
		w := s.app.Stdout
		if o.Stderr {
			w = s.app.Stderr
		}
		_, _ = w.Write(o.Text) // the exit code reports a closed pipe
	}
}

// endOfOne is the exit of a command on one target.
func endOfOne(s *printer, r *executor.CommandResult, c executor.Command) error {
	switch {
	case r.OK():
		return nil
	case r.TimedOut:
		return refuse("Allow more time: --timeout TIME",
			fmt.Sprintf("cannot continue: the command took longer than %s, and was stopped", render.Duration(c.Timeout)))
	case r.Exit < 0:
		return fmt.Errorf("cannot continue: the command was stopped by a signal: %s", r.Signal)
	}
	return reported(errExit(r.Exit))
}
