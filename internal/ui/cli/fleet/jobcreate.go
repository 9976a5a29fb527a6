package fleet

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
)

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

// jobExpires returns --expires in ns.
func jobExpires(d time.Duration) (int64, error) {
	if d < time.Minute {
		return 0, cli.Refuse("Set a minute or more, such as --expires 2d", "cannot create a job that expires within a minute")
	}
	return int64(d), nil
}

func jobExpiresFlag(c *cobra.Command, d *time.Duration) {
	cli.ExpiresFlag(c, d, 7*24*time.Hour, "discard the job on agents that have not received it within this")
}
