package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/service"
	"fettle.dev/fettle/internal/ui/cli"
)

func requestCertificate(ctx context.Context, s *cli.Session, f agentRequestFlags) error {
	if len(f.names) == 0 {
		return cli.Refuse("fettle agent request certificate --name web3.example.org",
			"cannot request a certificate without a name")
	}
	w := service.Order{Name: f.names[0], Names: slices.Compact(slices.Sorted(slices.Values(f.names))), Reload: f.reload,
		Reason: f.reason}
	if err := w.Check(); err != nil {
		return cli.Refuse("fettle agent request certificate --name web3.example.org", err.Error())
	}
	m, files, mb, done, err := openEnrolled(s)
	if err != nil {
		return err
	}
	defer done()
	k, closing, err := keeper(s.Printer, m, files, mb)
	if err != nil {
		return err
	}
	defer func() { _ = closing() }()
	if err := k.Want(w); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	w, err = k.Get(ctx, w.Name)
	if errors.Is(err, fleet.ErrNoHub) {
		return cli.WithHint(fmt.Errorf("cannot request a certificate: %w. The agent repeats the request", err),
			"See whether a hub can be reached: "+fmt.Sprint(mb.Hubs()))
	}
	if errors.Is(err, fleet.ErrDenied) {
		return errors.Join(fmt.Errorf("cannot get a certificate: %w", err), k.Forget(w.Name))
	}
	if err != nil {
		return fmt.Errorf("cannot get a certificate: %w", err)
	}
	return showRequestedCertificate(s.Printer, w, mb.Name())
}

func showRequestedCertificate(s *cli.Printer, w service.Order, target string) error {
	dir := path.Join(service.Dir, w.Name)
	if s.JSON {
		return s.Document(AgentRequestDoc{Format: agentRequestFormat, What: fleet.RequestCertificate,
			Answer: map[bool]string{true: fleet.RequestPending, false: fleet.RequestDone}[w.Pending], Dir: dir})
	}
	if w.Pending {
		s.Printf("The request for a certificate waits for approval: fettle request approve %s certificate --name %s\n"+
			"After the approval, the agent stores the certificate in %s.\n", target, w.Name, dir)
		return nil
	}
	s.Printf("The certificate is stored in %s, and is valid until %s.\n", dir, s.Moment(w.Until*int64(time.Second)))
	return nil
}

func newAgentDeleteCertificate(s *cli.Session) *cobra.Command {
	yes := false
	c := &cobra.Command{
		Use:   "delete-certificate NAME",
		Short: "Delete a certificate of a service of this host, with its key",
		Long: `Deletes /etc/fettle/certificates/NAME. The key cannot be restored. The agent no
longer requests or renews this certificate. The certificate itself remains valid
until it expires. If its key may have been copied, revoke it with fettle cert
revoke.`,
		Example: "  sudo fettle agent delete-certificate web3.example.org",
		Args:    cli.Args(1, 1),
		RunE: func(c *cobra.Command, a []string) error {
			if err := cli.AskBefore(c.Context(), s, yes, "Delete the certificate "+a[0]+" and its key?"); err != nil {
				return err
			}
			return deleteCertificate(s, a[0])
		},
	}
	cli.YesFlag(c, &yes)
	return c
}

func deleteCertificate(s *cli.Session, name string) error {
	m, files, mb, done, err := openEnrolled(s)
	if err != nil {
		return err
	}
	defer done()
	k, closing, err := keeper(s.Printer, m, files, mb)
	if err != nil {
		return err
	}
	defer func() { _ = closing() }()
	err = k.Forget(name)
	if errors.Is(err, os.ErrNotExist) {
		return cli.Refuse("List them: fettle agent status", fmt.Sprintf("cannot find a requested certificate %.80q", name))
	}
	if err != nil {
		return err
	}
	return s.Done("agent delete-certificate", 0, "The certificate "+name+" and its key are deleted.")
}
