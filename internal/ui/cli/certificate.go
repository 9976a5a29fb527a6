//go:build !target

package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
)

func newCertificate(s *session) *cobra.Command {
	c := &cobra.Command{
		Use:   "certificate",
		Short: "Certificates of services",
		Args:  args(0, 0),
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newCertificateList(s), newCertificateForbid(s))
	return c
}

func newCertificateList(s *session) *cobra.Command {
	var w watching
	c := &cobra.Command{
		Use:   "list",
		Short: "List the certificates of services, with the approvals of their names",
		Long: `Lists those that have not ended. A target that renewed one has two of it for a time. Below
them stand the names for which somebody approved certificates, which are renewed without asking
again.`,
		Example: "  fettle certificate list\n  fettle certificate list --json",
		Args:    args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return showing(c.Context(), s, w, func(hub *client.Client) (document.CertificatePage, error) { return hub.Certificates(c.Context()) }, s.showCertificates)
		},
	}
	w.flag(c)
	return c
}

func (s *session) showCertificates(p document.CertificatePage) {
	if len(p.Certificates)+len(p.Approved) == 0 {
		s.printf("No service has a certificate.\n")
		return
	}
	rows := [][]string{}
	for _, c := range p.Certificates {
		rows = append(rows, []string{c.Name, strings.Join(c.Names, " "), s.moment(c.Until), c.Serial, c.Hub, c.By, forbiddenBy(c)})
	}
	s.style().Table(s.app.Stdout, []string{"TARGET", "NAMES", "UNTIL", "SERIAL", "MADE BY", "LET BY", "IS"}, rows)
	if len(p.Approved) == 0 {
		return
	}
	rows = [][]string{}
	for _, a := range p.Approved {
		rows = append(rows, []string{a.Name, strings.Join(a.Names, " "), s.ago(a.At), a.By})
	}
	s.printf("\n")
	s.style().Table(s.app.Stdout, []string{"APPROVED FOR", "NAMES", "SINCE", "BY"}, rows)
}

func forbiddenBy(c document.Certificate) string {
	if c.Forbidden == "" {
		return "good"
	}
	return "forbidden by " + c.Forbidden
}

func newCertificateForbid(s *session) *cobra.Command {
	var r document.CertificateForbidding
	c := &cobra.Command{
		Use:   "forbid SERIAL | --of TARGET [--name NAME]",
		Short: "Revoke certificates of services",
		Long: `Forbids one certificate by its serial, or those of a target. All agents are asked to get the
list of what is forbidden, and the request is kept for those that are away; fettle request show
tells who has it. Services read it in /etc/fettle/certificates/crl.pem: ssl_crl of nginx,
--crlfile of curl.

The target has no other one of these names without a person: approvals are taken back, and what
a rule would allow is held. To retire or revoke a target forbids all of its certificates.`,
		Example: "  fettle certificate forbid 5f3a9c --reason 'the key was copied'\n  fettle certificate forbid --of web3 --name shop.example.org",
		Args:    args(0, 1),
		RunE: func(c *cobra.Command, a []string) error {
			if (len(a) == 1) == (r.Target != "") {
				return refuse("See: fettle certificate list", "cannot tell which certificates are meant: say a serial, or --of TARGET")
			}
			if len(a) == 1 {
				r.Serial = a[0]
			}
			hub, err := s.hub()
			if err != nil {
				return err
			}
			d, err := hub.ForbidCertificates(c.Context(), r)
			if err != nil {
				return err
			}
			return s.shown(d, func() { s.showRequest(d) })
		},
	}
	c.Flags().StringVar(&r.Target, "of", "", "those of this `TARGET`")
	c.Flags().StringVar(&r.Name, "name", "", "those that have this `NAME`")
	c.Flags().StringVar(&r.Reason, "reason", "", "say `WHY`, for the others")
	return c
}
