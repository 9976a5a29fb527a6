package hub

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/hub"
	"fettle.dev/fettle/internal/ui/cli"
)

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
		Example: "  fettle hub restore /srv/backup/hub.json\n  age -d -i key hub.age | fettle hub restore -\n" +
			"  fettle hub restore /srv/backup/hub.json --nats tls://nats1.example.org:4222 --nats-creds fettle.creds",
		Args: cli.Args(1, 1),
		RunE: func(_ *cobra.Command, a []string) error { return hubRestore(s.Printer, h, dir, as, a[0], nats) },
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
