package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet"
	joined "fettle.dev/fettle/internal/fleet/agent/member"
	"fettle.dev/fettle/internal/fleet/agent/service"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/ui/cli"
)

// wantsDir is where the agent keeps which certificates are wanted.
const wantsDir = agentDir + "/certificates"

// openEnrolled opens what this machine has of its fleet.
func openEnrolled(s *cli.Session) (cli.Machine, host.FS, *joined.Member, func(), error) {
	m, err := s.Machine()
	if err != nil {
		return m, nil, nil, nil, err
	}
	if !cli.FileExists(m.State) {
		return m, nil, nil, nil, cli.Refuse("Enrol it: fettle agent enrol --hub URL --token-file FILE",
			"this host is in no fleet: it is not enrolled")
	}
	m, files, done, err := agentFiles(s)
	if err != nil {
		return m, nil, nil, nil, err
	}
	mb, err := openMember(s.Printer, m, files, nil)
	if err != nil {
		return m, nil, nil, nil, errors.Join(err, done())
	}
	return m, files, mb, func() { _ = done() }, nil
}

// keeper keeps the certificates of services of a machine. Without a way to ask it only looks.
func keeper(s *cli.Printer, m cli.Machine, files host.FS, mb *joined.Member) (*service.Keeper, func() error, error) {
	if s.App.Agent.Services == nil {
		return nil, nil, errors.New("cannot request service certificates: this binary was built without support for them")
	}
	machine, reload, closing, err := s.App.Agent.Services(m)
	if err != nil {
		return nil, nil, err
	}
	return &service.Keeper{
		Files: machine, Dir: service.Dir, State: files, Wants: wantsDir, Request: mb.Request, Authorities: mb.Authorities,
		Reload: reload, Now: s.App.Now, Warn: func(text string) { fmt.Fprintln(s.App.Stderr, text) },
	}, closing, nil
}

// keepServices keeps them beside the agent, until what it gives is called.
func keepServices(ctx context.Context, s *cli.Printer, m cli.Machine, files host.FS, mb *joined.Member, link fleet.Link,
	warn func(string)) (fetchRevocations func(context.Context, string) error, end func(), err error) {
	if s.App.Agent.Services == nil {
		return nil, func() {}, nil
	}
	k, closing, err := keeper(s, m, files, mb)
	if err != nil {
		return nil, nil, err
	}
	k.Warn = warn
	k.Request = func(ctx context.Context, a fleet.Request) (fleet.RequestAnswer, error) {
		return joined.RequestOver(ctx, link, a)
	}
	k.Lists = func(ctx context.Context) (fleet.Lists, error) { return joined.ListsOver(ctx, link) }
	pokes := make(chan struct{}, 1)
	err = link.Serve(fleet.MessageCertified, func(context.Context, []byte) ([]byte, error) {
		select {
		case pokes <- struct{}{}:
		default:
		}
		return nil, nil
	})
	if err != nil {
		return nil, nil, errors.Join(err, closing())
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { defer close(done); k.Run(ctx, pokes) }()
	return k.FetchRevocations, func() { cancel(); <-done; _ = closing() }, nil
}

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
		s.Printf("The request for a certificate waits for approval: fettle request approve %s certificate --name %s\nAfter the approval, the agent stores the certificate in %s.\n", target, w.Name, dir)
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

// agentCertificate is one of a service of this machine.
type agentCertificate struct {
	Name  string   `json:"name"`
	Names []string `json:"names"`
	Dir   string   `json:"dir"`
	// Is tells what it is: there, pending, revoked, or missing.
	Is     string `json:"is"`
	Serial string `json:"serial,omitempty"`
	Until  int64  `json:"until,omitempty"` // ns since 1970
	Reload string `json:"reload,omitempty"`
	Error  string `json:"error,omitempty"` // why the last ask failed
}

func agentCertificates(files host.FS) ([]agentCertificate, error) {
	wishes, err := (&service.Keeper{State: files, Wants: wantsDir}).Orders()
	var out []agentCertificate
	for _, w := range wishes {
		is := "missing"
		switch {
		case w.Revoked:
			is = "revoked"
		case w.Serial != "":
			is = "there"
		case w.Pending:
			is = "pending"
		}
		out = append(out, agentCertificate{Name: w.Name, Names: w.Names, Dir: path.Join(service.Dir, w.Name), Is: is,
			Serial: w.Serial, Until: w.Until * int64(time.Second), Reload: w.Reload, Error: w.Error})
	}
	return out, err
}

func showAgentCertificates(s *cli.Printer, all []agentCertificate) {
	rows := [][]string{}
	for _, c := range all {
		until := "-"
		if c.Until > 0 {
			until = s.Moment(c.Until)
		}
		rows = append(rows, []string{c.Name, c.Is, until, cmp.Or(c.Reload, "-"), strings.Join(c.Names, " "), c.Error})
	}
	if len(rows) > 0 {
		s.Printf("\n")
		s.Style().Table(s.App.Stdout, []string{"CERTIFICATE", "STATE", "EXPIRES", "RELOADS", "NAMES", "ERROR"}, rows)
	}
}
