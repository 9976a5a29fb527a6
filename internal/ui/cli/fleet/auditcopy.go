package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
)

func newAuditCopy(s *cli.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "copy FILE",
		Short: "Update a copy of the audit log, and verify the log",
		Long: `Adds the new records of the hub's audit log to FILE, or creates FILE. The
command verifies the records in FILE, and that the new records continue them. If
the log was edited or cut off on the hub since the last copy, the command fails,
and the copied records remain. Run it regularly on a host to which the
administrators of the hub have no access.`,
		Example: "  fettle audit copy /var/log/fettle-hub1.audit",
		Args:    cli.Args(1, 1),
		RunE:    func(c *cobra.Command, a []string) error { return auditCopy(c.Context(), s.Printer, a[0]) },
	}
}

func auditCopy(ctx context.Context, s *cli.Printer, file string) (err error) {
	hub, err := hubclient.HubOf(s)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("cannot open the copy: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	k, err := readLog(f)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Truncate(k.size), seekTo(f, k.size)); err != nil { // a line that was cut off
		return fmt.Errorf("cannot extend the copy: %w", err)
	}
	added := 0
	for {
		p, err := client.GetAt(ctx, hub, route.AuditLog(), route.AuditQuery{Offset: &k.size})
		if err != nil {
			return cli.Refuse("Find out who has root access to the hub, and keep this copy",
				"cannot extend the copy: "+err.Error())
		}
		if len(p.Records) == 0 {
			break
		}
		for _, line := range p.Records {
			if err := k.next([]byte(line)); err != nil {
				return cli.Refuse("The log of the hub does not continue where the copy ends, so it was changed. Keep the copy",
					err.Error())
			}
			if _, err := fmt.Fprintln(f, line); err != nil {
				return fmt.Errorf("cannot write the copy: %w", err)
			}
			added++
		}
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("cannot write the copy: %w", err)
	}
	return s.Done("audit copy", 0, fmt.Sprintf("%s, %d of them new.", k, added))
}

func seekTo(f *os.File, at int64) error {
	_, err := f.Seek(at, io.SeekStart)
	return err
}
