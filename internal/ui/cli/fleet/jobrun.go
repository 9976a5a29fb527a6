package fleet

import (
	"time"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
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
	f.LockFlag(c)
	s.FrozenFlag(c)
	jobExpiresFlag(c, &expires)
	return c
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
