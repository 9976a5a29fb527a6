package fleet

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/lang/builtin"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
	"fettle.dev/fettle/internal/ui/cli/once"
)

func newJobRun(s *cli.Session) *cobra.Command {
	var f once.RunningFlags
	var expires time.Duration
	c := hubclient.SelectMany(&cobra.Command{
		Use:   "run -t SELECTION {-- PROGRAM [WORD]… | ACTION [NAME=VALUE]…}",
		Short: "Run a program or a module action on targets; offline targets run it later",
		Long: `Runs a program or a module action on the targets that -t selects, once on each
target. Targets that are offline run it when their agents connect, unless the
job has expired (--expires). Use fettle run for targets that are online: it
waits, and shows the output at once.

You need a hub, and a login with the right "operate" (fettle login). The command
prints the ID of the job and returns at once. ACTION is an action of a module of
the target, or a built-in action (fettle run --list).

fettle job show prints the exit code and the end of the output for each target.
The history of the target contains both too (fettle log). If the agent stops
while the program runs, the result is "interrupted", and the agent does not
start the program again.

The agent runs the version of the action that its target has at that time. It
waits while another process changes the host. On a host that fettle freeze
froze, it runs only programs with --read-only; --ignore-freeze runs all
programs. fettle target freeze does not stop jobs.

Hubs store the job, and all users with read access can see it. Therefore, the
command has no --env and refuses values of secret parameters.`,
		Example: `  fettle job run -t 'web*' -- systemctl restart nginx

  fettle job run -t label:env=prod --expires 2d service-restart name=nginx

  fettle job run -t '*' --read-only --timeout 10s -- df -h /`,
		Args: cli.Args(1, -1),
		RunE: func(c *cobra.Command, a []string) error {
			cmd, err := jobCommand(s, c, f, a)
			if err != nil {
				return err
			}
			return createJob(c.Context(), s, document.JobRequest{What: fleet.JobRun, Run: &cmd}, expires)
		},
	})
	fl := c.Flags()
	cli.DurationVar(fl, &f.Timeout, "timeout", 0,
		"stop the program after this `DURATION` (default: the limit of the action, or 5m)")
	fl.StringVar(&f.Dir, "dir", "", "start the program in this `DIR` (default: /)")
	fl.StringVar(&f.User, "user", "", "run the program as this `USER`")
	fl.BoolVar(&f.Shell, "shell", false, "join the words with spaces, and pass them to sh -c")
	fl.BoolVar(&f.ReadOnly, "read-only", false, "the program changes nothing, so it can run during an apply")
	s.FrozenFlag(c)
	jobExpiresFlag(c, &expires)
	return c
}

func jobExpiresFlag(c *cobra.Command, d *time.Duration) {
	cli.ExpiresFlag(c, d, 7*24*time.Hour, "discard the job on agents that have not received it within this")
}

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
		if f.Dir != "" || f.User != "" || f.Shell || f.ReadOnly {
			return cmd, cli.Refuse("Omit them: the action defines them",
				"cannot use --dir, --user, --shell or --read-only with an action")
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

func newJobCancel(s *cli.Session) *cobra.Command {
	return &cobra.Command{
		Use:     "cancel JOB",
		Short:   "Cancel a job for targets that have not begun it",
		Long:    "Cancels a job. Agents that were offline no longer receive it, and an agent\nthat waits to run it drops it. Runs that have begun continue, and their results\nare reported as before.",
		Example: "  fettle job cancel q1",
		Args:    cli.Args(1, 1),
		RunE: func(c *cobra.Command, a []string) error {
			hub, err := hubclient.HubOf(s.Printer)
			if err != nil {
				return err
			}
			d, err := client.Call(c.Context(), hub, route.CancelJob(), route.JobID{Job: a[0]}, document.ReasonRequest{})
			if err != nil {
				return err
			}
			return hubclient.ShowDocument(s.Printer, d, func() { s.Printf("%s\n", d.Text) })
		},
	}
}

// ranText is how what was run ended on a target, in few words.
func ranText(s *cli.Printer, a document.JobTarget) string {
	r := a.Result
	var out []string
	switch {
	case r == nil:
	case r.TimedOut:
		out = append(out, "ended at its timeout")
	case r.Exit < 0:
		out = append(out, strings.TrimSpace("ended by a signal: "+r.Signal))
	case r.Exit == 0 && a.Error != "": // it never began
	default:
		out = append(out, fmt.Sprintf("exit %d", r.Exit))
	}
	if a.Error != "" {
		out = append(out, a.Error)
	}
	if a.Cut {
		out = append(out, "its output is omitted: see the history of the target")
	}
	return strings.Join(out, "; ")
}

// whatText returns the command of a job as the user typed it.
func whatText(r document.Job) string {
	if r.Run == nil {
		return r.What
	}
	if r.Run.Action == "" {
		return r.What + " -- " + cli.WordsText(r.Run.Argv)
	}
	words := []string{r.What, r.Run.Action}
	for name, value := range r.Run.Params {
		words = append(words, cli.WordsText([]string{name + "=" + value}))
	}
	slices.Sort(words[2:])
	return strings.Join(words, " ")
}

// jobExpires returns --expires in ns.
func jobExpires(d time.Duration) (int64, error) {
	if d < time.Minute {
		return 0, cli.Refuse("Set a minute or more, such as --expires 2d", "cannot create a job that expires within a minute")
	}
	return int64(d), nil
}
