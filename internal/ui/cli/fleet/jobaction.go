package fleet

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/lang/builtin"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/once"
)

// jobCommand returns the command of a job, checked as far as possible on this machine.
func jobCommand(s *cli.Session, c *cobra.Command, f once.RunningFlags, a []string) (fleet.Command, error) {
	cmd := fleet.Command{Timeout: int64(f.Timeout), IgnoreFreeze: s.IgnoreFreeze}
	switch dash := c.ArgsLenAtDash(); {
	case f.Timeout < 0 || f.Timeout > fleet.MaxCommandTime:
		return cmd, cli.Refuse("Give a time such as --timeout 30s", fmt.Sprintf("cannot run a command for %s", f.Timeout))
	case dash > 0:
		return cmd, cli.Refuse("Write: fettle job run -t SELECTION -- PROGRAM [WORD]…",
			"cannot determine the program: it must follow --")
	case dash < 0:
		if f.Dir != "" || f.User != "" || f.Shell || f.ReadOnly || f.HasLocks() {
			return cmd, cli.Refuse("Omit them: the action defines them",
				"cannot use --dir, --user, --shell, --read-only or --lock with an action")
		}
		var err error
		if cmd.Action, cmd.Params, err = once.NamedCall(a); err != nil {
			return cmd, err
		}
		return cmd, checkJobAction(c.Context(), s, cmd)
	}
	ran, err := f.Command(a)
	if err != nil {
		return cmd, err
	}
	cmd.Argv, cmd.Dir, cmd.User, cmd.ReadOnly = ran.Argv[0], ran.Dir, ran.User, ran.ReadOnly
	if len(ran.Locks) > 0 {
		cmd.Locks, cmd.Locked, cmd.Argv = ran.Locks, cmd.Argv, nil
	}
	return cmd, cmd.Check()
}

// checkJobAction refuses an action that agents cannot run. Above all, hubs would store the value of a
// secret parameter.
func checkJobAction(ctx context.Context, s *cli.Session, cmd fleet.Command) error {
	if err := cmd.Check(); err != nil {
		return err
	}
	if b := builtin.ActionOf(cmd.Action); b != nil {
		return b.Check(cmd.Params).Err()
	}
	if builtin.CommandOf(cmd.Action) != nil {
		return errParts(cmd.Action)
	}
	src, err := s.HubAccess.Open(ctx)
	if err != nil {
		return err
	}
	defer src.Close()
	if src.None != nil {
		return cli.WithHint(src.None,
			"Actions are checked against the repository, so that no secret is stored by accident. A program needs no repository: fettle job run -t SELECTION -- PROGRAM")
	}
	command, found, err := once.Find(s.Printer, src, cmd.Action)
	if err != nil {
		return err
	}
	if command != nil {
		return errParts(cmd.Action)
	}
	if name := secretParam(found, cmd.Params); name != "" {
		return cli.Refuse("Pass it without storing it: fettle run "+cmd.Action+" "+name+"=@FILE …",
			fmt.Sprintf("cannot create a job that runs %q with a value for %q: it is secret, but hubs store jobs and show them to users with read access", cmd.Action, name))
	}
	return once.CheckCalled(found, cmd.Params)
}

func errParts(name string) error {
	return cli.Refuse("Run it on connected targets: fettle run "+name,
		fmt.Sprintf(
			"cannot create a job for the command %q: its parts run one after another, on targets that the command chooses",
			name))
}

// secretParam is a parameter that some action of the name declares as secret, and that has
// a value here.
func secretParam(found []query.Declared, params map[string]string) string {
	for _, d := range found {
		for _, p := range d.Params {
			if _, given := params[p.Name]; given && p.Secret {
				return p.Name
			}
		}
	}
	return ""
}
