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
		Short: "The certificates of services that hubs made",
		Args:  args(0, 0),
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newCertificateList(s))
	return c
}

func newCertificateList(s *session) *cobra.Command {
	var w watching
	c := &cobra.Command{
		Use:   "list",
		Short: "List the certificates of services, and who approved which names",
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
		rows = append(rows, []string{c.Name, strings.Join(c.Names, " "), s.moment(c.Until), c.Serial, c.Hub, c.By})
	}
	s.style().Table(s.app.Stdout, []string{"TARGET", "NAMES", "UNTIL", "SERIAL", "MADE BY", "LET BY"}, rows)
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
