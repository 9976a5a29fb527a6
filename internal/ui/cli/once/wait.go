package once

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/fleet/fanout"
	"fettle.dev/fettle/internal/round"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

// NewWait builds the command wait, to wait until targets are ready.
func NewWait(s *cli.Session) *cobra.Command {
	var many cli.ManyFlags
	what, timeout := "ssh", 5*time.Minute
	c := &cobra.Command{
		Use:   "wait",
		Short: "Wait until targets are ready",
		Long: `Waits until a condition is met on every target:

  ssh               the target can be reached
  boot              it has booted: all its units were started
  unit=NAME         the unit is active
  port=NUMBER       a program accepts connections on this TCP port,
                    tested on the target itself (127.0.0.1)

Exits with 1 if a target does not meet the condition in time.`,
		Example: "  fettle wait -t 'web*'\n  fettle wait -t web1 --for unit=nginx.service --timeout 30s\n  fettle wait -t db1 --for port=5432",
		Args:    cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			argv, err := waitedFor(what)
			if err != nil {
				return err
			}
			return onEach(c.Context(), s, many, hostTask{doing: "Waiting for", verb: "Waited for", looks: true,
				words: map[fanout.Status]string{fanout.OK: "ready"},
				one: func(ctx context.Context, m *cli.Member, x executor.Executor) round.Outcome {
					return waitFor(ctx, m, x, what, argv, timeout)
				}})
		},
	}
	many.Flags(c)
	c.Flags().StringVar(&what, "for", what, "wait for this `CONDITION`: ssh, boot, unit=NAME or port=NUMBER")
	cli.SpanVar(c.Flags(), &timeout, "timeout", timeout, "stop waiting after this `DURATION`")
	return c
}

// waitedFor is the command that ends when what is waited for holds; none for ssh.
func waitedFor(what string) ([]string, error) {
	name, value, _ := strings.Cut(what, "=")
	switch {
	case what == "ssh":
		return nil, nil
	case what == "boot":
		return []string{"systemctl", "is-system-running", "--wait"}, nil
	case name == "unit" && value != "" && !strings.HasPrefix(value, "-"):
		return []string{"sh", "-c", `until systemctl is-active --quiet -- "$1"; do sleep 1; done`, "sh", value}, nil
	case name == "port":
		if n, err := strconv.ParseUint(value, 10, 16); err == nil && n > 0 {
			return []string{"bash", "-c", `until (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; do sleep 1; done`, "bash",
				value}, nil
		}
	}
	return nil, cli.Refuse("Write --for ssh, --for boot, --for unit=NAME or --for port=NUMBER",
		fmt.Sprintf("cannot wait for %q", what))
}

// waitFor has the target wait itself, and asks it again when the connection was lost
// meanwhile.
func waitFor(ctx context.Context, m *cli.Member, x executor.Executor, what string, argv []string,
	timeout time.Duration) round.Outcome {
	began := m.App.Now()
	ready := func() round.Outcome {
		return round.Outcome{Status: fanout.OK, Line: "ready after " + render.Duration(m.App.Now().Sub(began))}
	}
	if argv == nil {
		return ready()
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	try := func(x executor.Executor) (bool, error) {
		cx, ok := x.(executor.Commander)
		if !ok {
			return false, errors.New("it only accepts step lists")
		}
		left, _ := ctx.Deadline()
		res, err := cx.Command(ctx, executor.Command{Action: "wait", Argv: [][]string{argv},
			Timeout: max(time.Until(left), time.Millisecond), ReadOnly: true}, m.RunOptions(), nil)
		if err != nil {
			return false, err
		}
		if what == "boot" { // degraded is booted, too
			return !res.TimedOut && res.Exit >= 0, nil
		}
		return res.OK(), nil
	}
	done, err := try(x)
	if !done && err != nil && wentDown(err) {
		err = waitUntil(ctx, m, try)
		done = err == nil
	}
	if done {
		return ready()
	}
	if err == nil {
		err = errors.New("the condition is not met yet")
	}
	return cli.Failed(fmt.Errorf("cannot wait longer than %s for %s: %w", timeout, what, err))
}
