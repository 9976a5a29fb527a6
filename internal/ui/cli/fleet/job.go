package fleet

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
	"fettle.dev/fettle/internal/ui/render"
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

func createJob(ctx context.Context, s *cli.Session, job document.JobRequest, expires time.Duration) error {
	words, err := hubclient.SelectedOnHub(s)
	if err == nil {
		job.Expires, err = jobExpires(expires)
	}
	if err != nil {
		return err
	}
	if len(words) == 0 {
		return cli.Refuse("Select agents: -t SELECTION. All agents: -t '*'", "cannot create a job: no agent is selected")
	}
	hub, err := hubclient.HubOf(s.Printer)
	if err != nil {
		return err
	}
	job.Select = words
	if job.Signed, err = hubclient.SignerOf(s).SignedJob(ctx, hub, job); err != nil {
		return err
	}
	r, err := client.Post(ctx, hub, route.CreateJob(), job)
	if err != nil {
		return err
	}
	return hubclient.ShowDocument(s.Printer, r, func() { showJob(s.Printer, r) })
}

func showJob(s *cli.Printer, r document.Job) {
	s.Printf("Job %s: %s, by %s at %s\n", r.ID, render.Escape(whatText(r)), r.By, s.Moment(r.At))
	if r.CancelledBy != "" {
		s.Printf("Cancelled by %s\n", r.CancelledBy)
	}
	s.Printf("\n")
	rows, left := [][]string{}, 0
	for _, a := range r.Targets {
		if !a.Done && a.State != document.JobExpired {
			left++
		}
		rows = append(rows, []string{cmp.Or(a.Name, string(a.ID)), string(a.State), s.Moment(a.At), ranText(s, a)})
	}
	s.Style().Table(s.App.Stdout, []string{"TARGET", "STATE", "TIME", "REASON"}, rows)
	showOutputs(s, r)
	if left > 0 {
		s.Printf("\n%d of %d have not acknowledged it yet. See which: fettle job show %s\n", left, len(r.Targets), r.ID)
	}
}

// showOutputs prints the output of programs, after the name of each target.
func showOutputs(s *cli.Printer, r document.Job) {
	for _, a := range r.Targets {
		if a.Result == nil || a.Result.Stdout+a.Result.Stderr == "" {
			continue
		}
		s.Printf("\n%s:\n", cmp.Or(a.Name, string(a.ID)))
		for _, text := range []string{a.Result.Stdout, a.Result.Stderr} {
			for line := range strings.Lines(text) {
				s.Printf("  %s\n", render.Escape(strings.TrimRight(line, "\r\n")))
			}
		}
	}
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

// shortened is a line of a list.
func shortened(text string) string {
	const most = 60
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

func showJobs(s *cli.Printer, p document.JobPage) {
	if len(p.Jobs) == 0 {
		s.Printf("There are no jobs. Create one: fettle job --help\n")
		return
	}
	rows := [][]string{}
	for _, r := range p.Jobs {
		acknowledged := 0
		for _, a := range r.Targets {
			if a.Done {
				acknowledged++
			}
		}
		rows = append(rows, []string{r.ID, render.Escape(shortened(whatText(r))),
			fmt.Sprintf("%d/%d", acknowledged, len(r.Targets)), s.Moment(r.At), r.By})
	}
	s.Style().Table(s.App.Stdout, []string{"JOB", "OPERATION", "DONE", "CREATED", "BY"}, rows)
	if left := p.Total - len(p.Jobs); left > 0 {
		s.Printf("%d more; see them with --limit\n", left)
	}
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
