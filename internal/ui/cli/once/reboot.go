package once

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/fleet/fanout"
	"fettle.dev/fettle/internal/round"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

// rebootFlags are the flags of fettle reboot.
type rebootFlags struct {
	wait, yes, dryRun bool
	withoutSlot       bool
	timeout           time.Duration
	many              cli.ManyFlags
}

// NewReboot builds the command reboot, to reboot targets, and wait until they are back.
func NewReboot(s *cli.Session) *cobra.Command {
	f := rebootFlags{wait: true, timeout: 10 * time.Minute}
	c := &cobra.Command{
		Use:   "reboot",
		Short: "Reboot targets, and wait until they are back",
		Long: `Reboots a host, and waits until it has booted again and answers. With --batch
only that many hosts are down at a time. --max-failed stops if too many do
not come back. Asks for confirmation; --yes confirms. Without -t this host is
rebooted, and reboot does not wait.

If the fleet has a lock for reboots, the agent of the host reboots it as soon as
it has a slot. It releases the slot when the host is ready again. The request
ends after --timeout. --without-slot reboots at once, also without a hub or a
running agent: more hosts than the lock allows can then be down.`,
		Example: "  fettle reboot -t web1\n  fettle reboot -t 'web*' --batch 1 --max-failed 0 --yes\n" +
			"  fettle reboot -t web1 --without-slot",
		Args: cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error { return reboot(c.Context(), s, f) },
	}
	f.many.Flags(c)
	c.Flags().BoolVar(&f.wait, "wait", f.wait, "wait until each host is back")
	cli.SpanVar(c.Flags(), &f.timeout, "timeout", f.timeout, "stop waiting for a host after this `DURATION`")
	c.Flags().BoolVar(&f.withoutSlot, "without-slot", false, "do not wait for a slot of the lock for reboots")
	cli.YesFlag(c, &f.yes)
	s.FrozenFlag(c)
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "show which hosts would be rebooted")
	return c
}

func reboot(ctx context.Context, s *cli.Session, f rebootFlags) error {
	names, err := namesMeant(ctx, s, f.many)
	if err != nil {
		return err
	}
	cmd := rebootCommand(f.withoutSlot, f.timeout)
	if f.dryRun {
		cmd.Argv = [][]string{{"systemctl", "reboot"}}
		return wouldRun(s.Printer, cmd, names)
	}
	if err := s.Ask(ctx, f.yes, "Reboot "+machinesText(names)+"?"); err != nil {
		return err
	}
	return onEach(ctx, s, f.many, hostTask{doing: "Rebooting", verb: "Rebooted",
		words: map[fanout.Status]string{fanout.Changed: "rebooted"},
		one: func(ctx context.Context, m *cli.Member, x executor.Executor) round.Outcome {
			return rebootMember(ctx, m, x, cmd, f)
		}})
}

// machinesText names a few machines, and counts many.
func machinesText(names []string) string {
	switch {
	case len(names) == 0:
		return "this host"
	case len(names) <= fewTargets:
		return render.Escape(strings.Join(names, ", "))
	}
	return render.Count(len(names), "target")
}

// namesMeant are the names of the machines that a command would work on; none for this
// one.
func namesMeant(ctx context.Context, s *cli.Session, many cli.ManyFlags) ([]string, error) {
	if s.ConnectOpts.SSH != "" {
		return []string{s.ConnectOpts.SSH}, nil
	}
	if len(s.Words) == 0 {
		return nil, nil
	}
	cr, err := s.TargetSet(ctx, many)
	if err != nil {
		return nil, err
	}
	defer cr.Close()
	return cr.Names, nil
}

func rebootMember(ctx context.Context, m *cli.Member, x executor.Executor, cmd executor.Command,
	f rebootFlags) round.Outcome {
	cx, ok := x.(executor.Commander)
	if !ok {
		return cli.Failed(fmt.Errorf("cannot reboot it: it only accepts step lists"))
	}
	before, err := bootID(ctx, x)
	if err != nil {
		return cli.Failed(err)
	}
	began := m.App.Now()
	res, err := cx.Command(ctx, cmd, m.RunOptions(), nil)
	if err != nil && !wentDown(err) {
		return cli.Failed(err)
	}
	if err == nil && !res.OK() {
		o := outcomeOfCommand(res, nil)
		o.Body = outputText(res) + o.Body
		return o
	}
	waits := err == nil && strings.Contains(res.Stdout, rebootWaits)
	if !f.wait || m.Remote == nil {
		line := "reboot requested"
		if waits {
			line += ", the agent reboots this host when it has a slot: fettle agent status"
		}
		return round.Outcome{Status: fanout.Changed, Line: line}
	}
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	status := ""
	err = waitUntil(ctx, m, func(x executor.Executor) (bool, error) {
		now, err := bootID(ctx, x)
		if err == nil && now == before && waits {
			status = rebootStatus(ctx, x)
		}
		return err == nil && now != before, err
	})
	if err != nil && status != "" {
		return cli.Failed(fmt.Errorf("it did not reboot within %s: %s", f.timeout, status))
	}
	if err != nil {
		return cli.Failed(fmt.Errorf("it did not come back within %s after its reboot was requested: %w", f.timeout, err))
	}
	return round.Outcome{Status: fanout.Changed, Line: "rebooted in " + render.Duration(m.App.Now().Sub(began))}
}
