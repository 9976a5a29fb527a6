package fleet

import (
	"time"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
)

// NewJob builds the command job, to jobs of agents: apply, verify, run.
func NewJob(s *cli.Session) *cobra.Command {
	c := &cobra.Command{
		Use:   "job",
		Short: "Jobs of agents: apply, verify, run",
		Long: `Creates jobs for the agents of the targets that -t selects. The hubs store a job
until each agent has answered, or until the job expires.`,
		Args: cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(
		newJobOf(s, "apply", "Make agents apply their assignments now",
			"Creates a job: agents apply their assignments now, also between their scheduled\nruns. A target applies nothing if it has no assignment, is frozen, or must wait."),
		newJobOf(s, "verify", "Make agents verify all managed addresses",
			"Creates a job: agents read every managed address, not only the addresses that\nmay have changed."),
		newJobOf(s, "report", "Make agents report their state",
			"Creates a job: agents send the same report as after a change."),
		newJobRun(s), newJobList(s), newJobShow(s), newJobCancel(s),
	)
	return c
}

func newJobOf(s *cli.Session, what, short, long string) *cobra.Command {
	var expires time.Duration
	c := hubclient.SelectMany(&cobra.Command{
		Use:     what + " -t SELECTION",
		Short:   short,
		Long:    long,
		Example: "  fettle job " + what + " -t web1\n  fettle job " + what + " -t 'label:env=prod'",
		Args:    cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return createJob(c.Context(), s, document.JobRequest{What: what}, expires)
		},
	})
	jobExpiresFlag(c, &expires)
	return c
}

func newJobList(s *cli.Session) *cobra.Command {
	var w hubclient.Watching
	limit := 0
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the jobs of agents, newest first",
		Example: "  fettle job list\n  fettle job list --limit 500",
		Args:    cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return hubclient.ShowingAt(c.Context(), s.Printer, w, route.Jobs(), route.Page{Limit: limit}, showJobs)
		},
	}
	cli.LimitOrAllFlag(c, &limit, 50, "jobs")
	w.Flag(c)
	return c
}

func newJobShow(s *cli.Session) *cobra.Command {
	var w hubclient.Watching
	c := &cobra.Command{
		Use:     "show JOB",
		Short:   "Show the progress of a job on each target",
		Example: "  fettle job show q1 --watch",
		Args:    cli.Args(1, 1),
		RunE: func(c *cobra.Command, a []string) error {
			return hubclient.ShowingAt(c.Context(), s.Printer, w, route.Job(), route.JobID{Job: a[0]}, showJob)
		},
	}
	w.Flag(c)
	return c
}
