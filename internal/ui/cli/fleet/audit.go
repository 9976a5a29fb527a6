package fleet

import (
	"fmt"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
	"fettle.dev/fettle/internal/ui/render"
)

// NewAudit builds the command audit, to show and verify the audit log of a hub.
func NewAudit(s *cli.Session) *cobra.Command {
	c := &cobra.Command{
		Use:   "audit",
		Short: "Show and verify the audit log of a hub",
		Long: `Shows, copies and verifies the audit log of a hub. A hub records each operation
that changes something, and the name of its user, before it performs the
operation. Each record contains the digest of the record before. If a record is
edited, removed or moved, the records after it do not match.

Admins of an organization see the operations of its users and on its targets.
They cannot copy the log.

Root on the hub can still rewrite the complete log, or remove its end. A copy on
another host reveals this: see fettle audit copy.`,
		Args: cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newAuditList(s), newAuditCopy(s), newAuditCheck(s))
	return c
}

func newAuditList(s *cli.Session) *cobra.Command {
	limit := 0
	c := &cobra.Command{
		Use:     "list",
		Short:   "Show the last records of the audit log",
		Example: "  fettle audit list\n  fettle audit list --limit 1000",
		Args:    cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			hub, err := hubclient.HubOf(s.Printer)
			if err != nil {
				return err
			}
			p, err := client.GetAt(c.Context(), hub, route.AuditLog(), route.AuditQuery{Limit: limit})
			if err != nil {
				return err
			}
			return hubclient.ShowDocument(s.Printer, p, func() { showAudit(s.Printer, p) })
		},
	}
	cli.LimitFlag(c, &limit, 100, "records")
	return c
}

func showAudit(s *cli.Printer, p document.AuditPage) {
	for _, e := range p.Entries {
		showEntry(s, access.Record{At: e.At, Entry: access.Entry{User: e.User, Operation: e.Operation, Object: e.Object,
			Outcome: e.Outcome, Reason: e.Reason, From: e.From}})
	}
	for _, line := range p.Records {
		r, err := access.ParseRecord([]byte(line))
		if err != nil {
			s.Printf("%s\n", render.Escape(fmt.Sprintf("record %d was edited: %v", r.Seq, err)))
			continue
		}
		showEntry(s, r)
	}
}

func showEntry(s *cli.Printer, r access.Record) {
	from := r.From
	if from == "@" { // the hub's socket has no address
		from = "the hub's own host"
	}
	s.Style().Line(s.App.Stdout, s.Moment(r.At), r.User,
		cli.JoinWords(r.Operation, hubclient.Parted("on ", r.Object), r.Outcome,
			hubclient.Parted("from ", from))+hubclient.Parted(": ", r.Reason))
}

func newAuditCheck(s *cli.Session) *cobra.Command {
	behind := ""
	c := &cobra.Command{
		Use:   "check FILE",
		Short: "Verify an audit log, or a copy",
		Long: `Verifies each record against the record before, and reports the first record
that was edited, removed or moved. With --previous, the log must also begin with
all records of an older copy.`,
		Example: "  fettle audit check /var/lib/fettle-hub/audit.log\n  fettle audit check audit.log --previous copy.audit",
		Args:    cli.Args(1, 1),
		RunE:    func(_ *cobra.Command, a []string) error { return auditCheck(s.Printer, a[0], behind) },
	}
	c.Flags().StringVar(&behind, "previous", "", "verify that the log continues the older copy in this `FILE`")
	return c
}

func auditCheck(s *cli.Printer, file, behind string) error {
	var kept []access.Head
	if behind != "" {
		old, err := readLogFile(behind)
		if err != nil {
			return fmt.Errorf("%s: %w", behind, err)
		}
		kept = old.last
	}
	k, err := readLogFile(file, kept...)
	if err != nil {
		return cli.Refuse("Keep both files, and find out who had root access to the hub", err.Error())
	}
	return s.Done("audit check", 0, k.String()+": unchanged since they were written.")
}
