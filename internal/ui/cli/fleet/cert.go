package fleet

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
)

// NewCert builds the command cert, to certificates of services.
func NewCert(s *cli.Session) *cobra.Command {
	c := &cobra.Command{
		Use:   "cert",
		Short: "Certificates of services",
		Args:  cli.Args(0, 0),
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newCertList(s), newCertRevoke(s))
	return c
}

func newCertList(s *cli.Session) *cobra.Command {
	var w hubclient.Watching
	c := &cobra.Command{
		Use:   "list",
		Short: "List the certificates of services, with the approvals of their names",
		Long: `Lists the certificates that have not expired. After a renewal, a target has two
certificates for the same names until the old certificate expires. A second
table lists the names with an approval. Certificates for these names are renewed
without a new approval.`,
		Example: "  fettle cert list\n  fettle cert list --json",
		Args:    cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return hubclient.ShowingRoute(c.Context(), s.Printer, w, route.Certificates(), showCertificates)
		},
	}
	w.Flag(c)
	return c
}

func showCertificates(s *cli.Printer, p document.CertificatePage) {
	if len(p.Certificates)+len(p.Approved) == 0 {
		s.Printf("There are no certificates. A host requests one: fettle agent request certificate --name NAME\n")
		return
	}
	rows := [][]string{}
	for _, c := range p.Certificates {
		rows = append(rows, []string{c.Name, strings.Join(c.Names, " "), s.Moment(c.Until), c.Serial, c.Hub, c.By,
			revokedBy(c)})
	}
	s.Style().Table(s.App.Stdout, []string{"TARGET", "NAMES", "EXPIRES", "SERIAL", "ISSUER", "APPROVED BY", "STATE"}, rows)
	if len(p.Approved) == 0 {
		return
	}
	rows = [][]string{}
	for _, a := range p.Approved {
		rows = append(rows, []string{a.Name, strings.Join(a.Names, " "), hubclient.AgoText(s, a.At), a.By})
	}
	s.Printf("\n")
	s.Style().Table(s.App.Stdout, []string{"TARGET", "APPROVED NAMES", "SINCE", "BY"}, rows)
}

func revokedBy(c document.Certificate) string {
	if c.RevokedBy == "" {
		return "valid"
	}
	return "revoked by " + c.RevokedBy
}

func newCertRevoke(s *cli.Session) *cobra.Command {
	var r document.CertificateRevocation
	yes := false
	c := &cobra.Command{
		Use:   "revoke SERIAL | -t TARGET [--name NAME]",
		Short: "Revoke certificates of services",
		Long: `Revokes one certificate by its serial, or the certificates of a target. The hub
starts a job that makes all agents fetch the revocation list, also agents that
connect later. fettle job show lists the targets that have the new list.
Services read it from /etc/fettle/certificates/crl.pem: ssl_crl of nginx,
--crlfile of curl.

The target gets another certificate for these names only if a user approves it:
earlier approvals end, and requests that a rule would allow are pending. If you
retire or revoke a target, all its certificates are revoked. A revocation cannot
be undone.`,
		Example: "  fettle cert revoke 5f3a9c --reason 'the key was copied'\n  fettle cert revoke -t web3 --name shop.example.org",
		Args:    cli.Args(0, 1),
		RunE: func(c *cobra.Command, a []string) error {
			r.Target = s.Target
			if (len(a) == 1) == (r.Target != "") {
				return cli.Refuse("See: fettle cert list", "cannot select certificates: name a serial number, or -t TARGET")
			}
			if len(a) == 1 {
				r.Serial = a[0]
			}
			if err := cli.AskBefore(c.Context(), s, yes, "Revoke "+revoked(r)+"?"); err != nil {
				return err
			}
			hub, err := hubclient.HubOf(s.Printer)
			if err != nil {
				return err
			}
			d, err := client.Post(c.Context(), hub, route.RevokeCertificates(), r)
			if err != nil {
				return err
			}
			return hubclient.ShowDocument(s.Printer, d, func() { showJob(s.Printer, d) })
		},
	}
	c.Flags().StringVar(&r.Name, "name", "", "only certificates with this `NAME`")
	cli.ReasonFlag(c, &r.Reason)
	cli.YesFlag(c, &yes)
	return c
}

func revoked(r document.CertificateRevocation) string {
	switch {
	case r.Serial != "":
		return fmt.Sprintf("the certificate %q", r.Serial)
	case r.Name != "":
		return fmt.Sprintf("the certificates of %s for %q", r.Target, r.Name)
	}
	return "all certificates of services of " + r.Target
}
