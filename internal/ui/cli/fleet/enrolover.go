package fleet

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/enrol"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/fleet/fanout"
	"fettle.dev/fettle/internal/round"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
)

func newTargetEnrol(s *cli.Session) *cobra.Command {
	f, pkg := enrol.Fleet{Within: 2 * time.Minute}, ""
	var many cli.ManyFlags
	c := &cobra.Command{
		Use:   "enrol -t TARGETS",
		Short: "Enrol hosts in the fleet over SSH, each with an agent",
		Long: `Enrols hosts in the fleet over SSH. On each host it logs in as the repository
configures, and installs fettle. It then enrols the host with its own token,
starts the agent, and waits until the agent connects to the hub. The target gets
the name and the labels that the repository declares.

A host needs only sshd. With --package, the Debian package of fettle is
installed. Otherwise a host that has the package keeps it. On every other host
this binary is copied to /usr/bin/fettle, and the units to
/usr/lib/systemd/system. A package that is installed later replaces these files.

You can run the command again at any time. It then continues where it stopped,
and hosts that are in the fleet already keep their identity and their labels. It
requires a login with the right admin, since labels grant access.

If another repository or target is applied on a host, for example over SSH with
its name, the agent raises an alarm and waits. With --replace-applied-state, the
first run of the agent replaces that state. The flag also works on an enrolled
host.`,
		Example: "  fettle target enrol -t 'web*'\n  fettle target enrol -t web1 --hub https://hub.example.org:7440\n  fettle target enrol -t 'label:env=prod' --package fettle_1.0_amd64.deb",
		Args:    cli.Args(0, 0),
		RunE:    func(c *cobra.Command, _ []string) error { return enrolMany(c.Context(), s, f, pkg, many) },
	}
	many.Flags(c)
	c.Flags().StringVar(&f.URL, "hub", "", "the `URL` at which targets reach the hub (default: the URL of the login)")
	c.Flags().StringVar(&pkg, "package", "", "install this `FILE`, a Debian package of fettle, instead of only the binary")
	c.Flags().BoolVar(&f.Adopt, "replace-applied-state", false, "let the agents replace the applied state of another repository or target, and remove what their lists do not contain")
	cli.SpanVar(c.Flags(), &f.Within, "timeout", f.Within, "wait at most this `DURATION` until the agent of a target connects to the hub")
	return c
}

func enrolMany(ctx context.Context, s *cli.Session, f enrol.Fleet, pkg string, many cli.ManyFlags) error {
	switch {
	case len(s.Words) == 0:
		return cli.Refuse("Run: fettle target enrol -t TARGETS", "cannot enrol: no target is named")
	case s.ConnectOpts.Via.Value == cli.ViaHub:
		return cli.Refuse("Leave --via hub out", "cannot enrol through the hub: a host without an agent is reached over SSH")
	}
	if err := enrolInto(s, &f, pkg); err != nil {
		return err
	}
	s.ConnectOpts.Via.Value = cli.ViaSSH
	cr, err := s.TargetSet(ctx, many)
	if err != nil {
		return err
	}
	defer cr.Close()
	cr.Acts = true
	all := cr.Round(ctx, cr.Names, "Enrolling", true,
		func(ctx context.Context, m *cli.Member, x executor.Executor) round.Outcome {
			return enrolOne(ctx, f, m, x)
		})
	return cr.Finish("Enrolled", all, map[fanout.Status]string{fanout.OK: "enrolled before", fanout.Changed: "enrolled"})
}

// enrolInto completes the description of the fleet: its hub, and the program to install.
func enrolInto(s *cli.Session, f *enrol.Fleet, pkg string) error {
	login, err := hubclient.LoginOf(s.Printer)
	if err != nil {
		return err
	}
	if f.URL = cmp.Or(f.URL, login.Hub); !strings.HasPrefix(f.URL, "https://") {
		return cli.Refuse("Add --hub https://HOST:7440",
			"cannot determine the address at which targets reach the hub: the login uses a socket")
	}
	if pkg == "" {
		f.Install, err = enrol.Binary()
	} else {
		f.Install, err = enrol.Package(pkg)
	}
	if err != nil {
		return err
	}
	hub, err := hubclient.HubOf(s.Printer)
	f.Hub = enrol.HubOf(hub)
	return err
}

func enrolOne(ctx context.Context, f enrol.Fleet, m *cli.Member, x executor.Executor) round.Outcome {
	access, ok := x.(enrol.Access)
	if !ok {
		return cli.Failed(errors.New("cannot enrol it: it only accepts step lists"))
	}
	r, err := f.Enrol(ctx, enrol.Host{Name: m.Target, Labels: m.Entry.Labels, Arch: archOf(m), Access: access,
		Options: m.RunOptions()})
	switch {
	case err != nil:
		return cli.Failed(err)
	case r.Changed():
		return round.Outcome{Status: fanout.Changed, Line: r.String()}
	}
	return round.Outcome{Status: fanout.OK, Line: r.String()}
}

// archOf returns Go's name of the architecture of a target, "" if it is unknown.
func archOf(m *cli.Member) string {
	if m.Remote == nil {
		return runtime.GOARCH
	}
	v, ok := m.Remote.Facts()["arch_go"]
	if !ok || !v.IsKnown() || v.IsNull() || v.Type() != cty.String {
		return ""
	}
	return v.AsString()
}
