package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
)

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
