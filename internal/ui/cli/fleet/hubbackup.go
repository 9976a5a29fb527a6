package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
)

// errUnwell ends hub check where something is not well.
var errUnwell = fmt.Errorf("the hub has a problem: %w", executor.ErrCheckFailed)

func newHubBackup(s *cli.Session, h *Hub) *cobra.Command {
	dir := hubDir
	c := &cobra.Command{
		Use:   "backup FILE|-",
		Short: "Back up a hub",
		Long: `Saves the hub that runs on this host: the settings, the keys and the fleet CA
from its directory, and data that hubs share: targets, users, tokens,
revocations, pins and rules. A login at another hub is not used. The backup has
no assignments, reports and content: the hub gets these again from the
repository and the agents.

The file contains the key of the fleet CA, and is as secret as this key. Only
you can read the file.`,
		Example: "  fettle hub backup /srv/backup/hub.json\n  fettle hub backup - | age -r age1… >hub.age",
		Args:    cli.Args(1, 1),
		RunE:    func(c *cobra.Command, a []string) error { return hubBackup(c.Context(), s.Printer, h, dir, a[0]) },
	}
	c.Flags().StringVar(&dir, "dir", hubDir, "the directory of the hub: the `DIR` of fettle hub init")
	return c
}

func hubBackup(ctx context.Context, s *cli.Printer, h *Hub, dir, file string) error {
	if h == nil || h.Backup == nil {
		return errors.New("cannot run a hub: this binary was built without support for hubs")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	at, err := hubclient.OwnHub(s, "save", "Start it: fettle hub run --dir "+dir+
		". If it uses another socket, log in there: fettle login unix://SOCKET")
	if err != nil {
		return err
	}
	state, err := client.Post(ctx, at, route.SaveState(), document.ReasonRequest{})
	if err != nil {
		return err
	}
	if file == "-" {
		if err := h.Backup(dir, state, s.App.Stdout); err != nil {
			return err
		}
		return backupSaved(ctx, at, state)
	}
	if err := writeAtomically(file, func(w io.Writer) error { return h.Backup(dir, state, w) }); err != nil {
		return fmt.Errorf("cannot save the hub: %w", err)
	}
	if err := backupSaved(ctx, at, state); err != nil {
		return err
	}
	return s.Done("backup", 0, fmt.Sprintf("%s contains the keys of the fleet: store it where only you can read it.",
		file))
}

// backupSaved has the hub record a backup that is written: a backup that failed is none.
func backupSaved(ctx context.Context, at *client.Client, state document.HubState) error {
	if _, err := client.Post(ctx, at, route.BackupSaved(), document.BackupSaved{At: state.At}); err != nil {
		return fmt.Errorf("the backup is written, but the hub cannot record it: %w", err)
	}
	return nil
}

// writeAtomically writes a file for its owner alone, whole and durable or not at all.
func writeAtomically(file string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*")
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

func newHubRestore(s *cli.Session, h *Hub) *cobra.Command {
	dir := hubDir
	var as hubUserFlag
	var nats natsFlags
	c := &cobra.Command{
		Use:   "restore FILE|-",
		Short: "Restore a hub from a backup",
		Long: `Restores the directory of a hub from a file of fettle hub backup. When the hub
starts, it begins an epoch above all earlier epochs. Agents that are ahead of
the backup accept its assignments, and no number is used twice. Repeat all
revocations that were made after the backup.

Never run the saved hub and the restored hub at the same time.

Data that a NATS cluster still has is newer than the backup, and is kept. With
--nats, a hub that stored all data itself stores it on the cluster from then on.`,
		Example: "  fettle hub restore /srv/backup/hub.json\n  age -d -i key hub.age | fettle hub restore -\n  fettle hub restore /srv/backup/hub.json --nats tls://nats1.example.org:4222 --nats-creds fettle.creds",
		Args:    cli.Args(1, 1),
		RunE:    func(_ *cobra.Command, a []string) error { return hubRestore(s.Printer, h, dir, as, a[0], nats) },
	}
	nats.flag(c.Flags())
	as.flag(c.Flags())
	c.Flags().StringVar(&dir, "dir", hubDir, "restore the hub in `DIR`")
	return c
}

func hubRestore(s *cli.Printer, h *Hub, dir string, as hubUserFlag, file string, nats natsFlags) error {
	if h == nil || h.Restore == nil {
		return errors.New("cannot run a hub: this binary was built without support for hubs")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	given, err := nats.given()
	if err != nil {
		return err
	}
	in := s.App.Stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return fmt.Errorf("cannot read the backup: %w", err)
		}
		defer f.Close()
		in = f
	}
	if err := newHubAs(s, h, as, dir); err != nil {
		return err
	}
	set, err := h.Restore(dir, in)
	if errors.Is(err, hub.ErrExists) {
		return cli.WithHint(err, "Move that directory away first, or name a different one: --dir DIR")
	}
	if err != nil {
		return err
	}
	if err := useNats(s, h, dir, given, true); err != nil {
		return cli.WithHint(err, "Move "+dir+" away, and restore again")
	}
	return s.Done("restore", 0, fmt.Sprintf("%s, the hub of %s, is in %s. Start it: %s", set.Name, set.Fleet, dir,
		startHub(dir)))
}

func newHubCheck(s *cli.Session) *cobra.Command {
	return &cobra.Command{
		Use:     "check",
		Short:   "Check a hub: disk, certificates, bus, repository, backup",
		Long:    `Checks the hub and shows each result. It exits with 3 if a check fails.`,
		Example: "  fettle hub check\n  fettle hub check --json",
		Args:    cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			well := false
			err := hubclient.Showing(c.Context(), s.Printer, hubclient.Watching{},
				func(hub *client.Client) (document.HubCheck, error) {
					d, err := client.Get(c.Context(), hub, route.Check())
					well = d.Well
					return d, err
				}, showCheck)
			if err == nil && !well {
				return errUnwell
			}
			return err
		},
	}
}

func showCheck(s *cli.Printer, d document.HubCheck) {
	rows := [][]string{}
	for _, f := range d.Checks {
		is := "ok"
		if !f.Well {
			is = "failed"
		}
		rows = append(rows, []string{f.Name, is, f.Text, f.Hint})
	}
	s.Style().Table(s.App.Stdout, []string{"CHECK", "RESULT", "DETAILS", "REMEDY"}, rows)
}
