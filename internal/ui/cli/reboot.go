package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/fleet/fanout"
	"fettle.dev/fettle/internal/ui/render"
)

// rebootFlags are the flags of fettle reboot.
type rebootFlags struct {
	wait, yes, dryRun bool
	timeout           time.Duration
	many              manyFlags
}

func newReboot(s *session) *cobra.Command {
	f := rebootFlags{wait: true, timeout: 10 * time.Minute}
	c := &cobra.Command{
		Use:   "reboot",
		Short: "Reboot targets, and wait until they are back",
		Long: `Reboots a host, and waits until it has booted again and answers. With --batch
only that many hosts are down at a time. --max-failed stops if too many do
not come back. Asks for confirmation; --yes confirms. Without -t this host is
rebooted, and reboot does not wait.`,
		Example: "  fettle reboot -t web1\n  fettle reboot -t 'web*' --batch 1 --max-failed 0 --yes",
		Args:    args(0, 0),
		RunE:    func(c *cobra.Command, _ []string) error { return reboot(c.Context(), s, f) },
	}
	f.many.flags(c)
	c.Flags().BoolVar(&f.wait, "wait", f.wait, "wait until each host is back")
	spanVar(c.Flags(), &f.timeout, "timeout", f.timeout, "stop waiting for a host after this `DURATION`")
	yesFlag(c, &f.yes)
	s.frozenFlag(c)
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "show which hosts would be rebooted")
	return c
}

func reboot(ctx context.Context, s *session, f rebootFlags) error {
	names, err := s.meant(ctx, f.many)
	if err != nil {
		return err
	}
	cmd := executor.Command{Action: "reboot", Argv: [][]string{{"systemctl", "reboot"}}, Timeout: time.Minute}
	if f.dryRun {
		return wouldRun(s.printer, cmd, names)
	}
	if err := s.ask(ctx, f.yes, "Reboot "+machinesText(names)+"?"); err != nil {
		return err
	}
	return onEach(ctx, s, f.many, hostTask{doing: "Rebooting", verb: "Rebooted",
		words: map[fanout.Status]string{fanout.Changed: "rebooted"},
		one:   func(ctx context.Context, m *member, x executor.Executor) outcome { return m.reboot(ctx, x, cmd, f) }})
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

// meant are the names of the machines that a command would work on; none for this
// one.
func (s *session) meant(ctx context.Context, many manyFlags) ([]string, error) {
	if s.connectOpts.ssh != "" {
		return []string{s.connectOpts.ssh}, nil
	}
	if len(s.words) == 0 {
		return nil, nil
	}
	cr, err := s.targetSet(ctx, many)
	if err != nil {
		return nil, err
	}
	defer cr.close()
	return cr.names, nil
}

func (m *member) reboot(ctx context.Context, x executor.Executor, cmd executor.Command, f rebootFlags) outcome {
	cx, ok := x.(executor.Commander)
	if !ok {
		return failed(fmt.Errorf("cannot reboot it: it only accepts step lists"))
	}
	before, err := bootID(ctx, x)
	if err != nil {
		return failed(err)
	}
	began := m.app.Now()
	res, err := cx.Command(ctx, cmd, m.runOptions(), nil)
	if err != nil && !wentDown(err) {
		return failed(err)
	}
	if err == nil && !res.OK() {
		o := outcomeOfCommand(res, nil)
		o.body = outputText(res) + o.body
		return o
	}
	if !f.wait || m.remote == nil {
		return outcome{status: fanout.Changed, line: "reboot requested"}
	}
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	err = m.until(ctx, func(x executor.Executor) (bool, error) {
		now, err := bootID(ctx, x)
		return err == nil && now != before, err
	})
	if err != nil {
		return failed(fmt.Errorf("it did not come back within %s after its reboot was requested: %w", f.timeout, err))
	}
	return outcome{status: fanout.Changed, line: "rebooted in " + render.Duration(m.app.Now().Sub(began))}
}
