//go:build !target

package cli

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
	"fettle.dev/fettle/internal/ui/render"
)

func newJob(s *session) *cobra.Command {
	c := &cobra.Command{
		Use:   "job",
		Short: "Jobs of agents: apply, verify, run",
		Long: `Creates jobs for the agents of the targets that -t selects. The hubs store a job
until each agent has answered, or until the job expires.`,
		Args: args(0, 0),
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

func newJobOf(s *session, what, short, long string) *cobra.Command {
	var expires time.Duration
	c := selectMany(&cobra.Command{
		Use:     what + " -t SELECTION",
		Short:   short,
		Long:    long,
		Example: "  fettle job " + what + " -t web1\n  fettle job " + what + " -t 'label:env=prod'",
		Args:    args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return createJob(c.Context(), s, document.JobRequest{What: what}, expires)
		},
	})
	jobExpiresFlag(c, &expires)
	return c
}

func createJob(ctx context.Context, s *session, job document.JobRequest, expires time.Duration) error {
	words, err := s.selectedOnHub()
	if err == nil {
		job.Expires, err = jobExpires(expires)
	}
	if err != nil {
		return err
	}
	if len(words) == 0 {
		return refuse("Select agents: -t SELECTION. All agents: -t '*'", "cannot create a job: no agent is selected")
	}
	hub, err := s.hub()
	if err != nil {
		return err
	}
	job.Select = words
	if job.Signed, err = s.commandSigner().signedJob(ctx, hub, job); err != nil {
		return err
	}
	r, err := client.Post(ctx, hub, route.CreateJob(), job)
	if err != nil {
		return err
	}
	return s.shown(r, func() { showJob(s.printer, r) })
}

func showJob(s *printer, r document.Job) {
	s.printf("Job %s: %s, by %s at %s\n", r.ID, render.Escape(whatText(r)), r.By, s.moment(r.At))
	if r.CancelledBy != "" {
		s.printf("Cancelled by %s\n", r.CancelledBy)
	}
	s.printf("\n")
	rows, left := [][]string{}, 0
	for _, a := range r.Targets {
		if !a.Done && a.State != document.JobExpired {
			left++
		}
		rows = append(rows, []string{cmp.Or(a.Name, string(a.ID)), string(a.State), s.moment(a.At), ranText(s, a)})
	}
	s.style().Table(s.app.Stdout, []string{"TARGET", "STATE", "TIME", "REASON"}, rows)
	showOutputs(s, r)
	if left > 0 {
		s.printf("\n%d of %d have not acknowledged it yet. See which: fettle job show %s\n", left, len(r.Targets), r.ID)
	}
}

// showOutputs prints the output of programs, after the name of each target.
func showOutputs(s *printer, r document.Job) {
	for _, a := range r.Targets {
		if a.Result == nil || a.Result.Stdout+a.Result.Stderr == "" {
			continue
		}
		s.printf("\n%s:\n", cmp.Or(a.Name, string(a.ID)))
		for _, text := range []string{a.Result.Stdout, a.Result.Stderr} {
			for line := range strings.Lines(text) {
				s.printf("  %s\n", render.Escape(strings.TrimRight(line, "\r\n")))
			}
		}
	}
}

func newJobList(s *session) *cobra.Command {
	var w watching
	limit := 0
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the jobs of agents, newest first",
		Example: "  fettle job list\n  fettle job list --limit 500",
		Args:    args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return showingAt(c.Context(), s.printer, w, route.Jobs(), route.Page{Limit: limit}, showJobs)
		},
	}
	limitOrAllFlag(c, &limit, 50, "jobs")
	w.flag(c)
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

func showJobs(s *printer, p document.JobPage) {
	if len(p.Jobs) == 0 {
		s.printf("There are no jobs. Create one: fettle job --help\n")
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
			fmt.Sprintf("%d/%d", acknowledged, len(r.Targets)), s.moment(r.At), r.By})
	}
	s.style().Table(s.app.Stdout, []string{"JOB", "OPERATION", "DONE", "CREATED", "BY"}, rows)
	if left := p.Total - len(p.Jobs); left > 0 {
		s.printf("%d more; see them with --limit\n", left)
	}
}

func newJobShow(s *session) *cobra.Command {
	var w watching
	c := &cobra.Command{
		Use:     "show JOB",
		Short:   "Show the progress of a job on each target",
		Example: "  fettle job show q1 --watch",
		Args:    args(1, 1),
		RunE: func(c *cobra.Command, a []string) error {
			return showingAt(c.Context(), s.printer, w, route.Job(), route.JobID{Job: a[0]}, showJob)
		},
	}
	w.flag(c)
	return c
}
