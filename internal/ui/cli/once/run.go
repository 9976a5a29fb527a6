// Package once has the commands for one-time operations, which are not part of the applied state: to run
// programs and actions, copy files, reboot, wait, and read facts.
//
//	cli.Group{Commands: []cli.NewCommand{once.NewRun, once.NewCopy}}
package once

import (
	"fmt"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/ui/cli"
)

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
apply, and on a frozen host. --ignore-freeze runs any program on a frozen host.
With --lock, the program waits for a slot of the lock on each target, as an
action with a lock does; --without-locks skips the locks of an action.`,
		Example: `  fettle run -- systemctl status nginx
  fettle run -t 'web*' -- uptime

  fettle run -t 'web*' --read-only --timeout 10s -- df -h /

  fettle run -t web1 --shell -- 'journalctl -u nginx | tail -n 3'
  fettle run -t 'web*' --dry-run -- systemctl restart nginx

  fettle run -t 'db*' --lock db-migrate -- /usr/local/bin/migrate

  fettle run -t web1 --list
  fettle run -t 'web*' drain seconds=60
  fettle run -t 'web*' rolling-restart name=nginx batch=1`,
		Args: cli.Args(0, -1),
		RunE: func(c *cobra.Command, a []string) error { return runProgram(s, c, f, a) },
	}
	f.flags(c)
	s.FrozenFlag(c)
	s.LocksFlag(c)
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
	if len(f.locks) > 0 && s.WithoutLocks {
		return cli.Refuse("Remove one of the two flags", "cannot use --lock with --without-locks")
	}
	cmd, err := f.Command(a)
	if err != nil {
		return err
	}
	return runCommand(c.Context(), s, f, cmd, false)
}
