package hostreboot

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/durable"
	"fettle.dev/fettle/internal/fleet/agent/machine"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/window"
)

// agentHost runs commands on this host and reads its state.
type agentHost struct {
	s     *cli.Printer
	m     cli.Machine
	files host.FS
	dir   string
	began time.Time
}

// command runs a command on the host, and records it in its history.
func (h agentHost) command(ctx context.Context, argv []string) error {
	x, done, err := h.s.App.OpenExecutor(ctx, h.m)
	if err != nil {
		return err
	}
	defer func() { _ = done() }()
	cx, ok := x.(executor.Commander)
	if !ok {
		return errors.New("the executor of this host only accepts step lists")
	}
	cmd := executor.Command{Action: "reboot", Argv: [][]string{argv}, Timeout: time.Minute}
	res, err := cx.Command(ctx, cmd, executor.Options{User: "agent", From: "fleet", Version: h.s.App.Version,
		Command: "fettle agent: " + strings.Join(argv, " ")}, nil)
	if err == nil && !res.OK() {
		err = fmt.Errorf("%s ended with %d: %.300s", argv[0], res.Exit, strings.TrimSpace(string(res.Stderr)))
	}
	return err
}

// settleTime is the time after the start of the agent in which the services of the host may start.
const settleTime = 30 * time.Second

// notReady returns why the host is not ready, or "". Drift, a freeze and a window do not mean that a host is broken.
func (h agentHost) notReady() string {
	if since := h.s.App.Now().Sub(h.began); since >= 0 && since < settleTime {
		return "the agent started a moment ago"
	}
	kept, err := h.kept()
	if err != nil {
		return err.Error()
	}
	for _, mod := range machine.New(machine.Config{}, kept, 0, 0).Status().Modules {
		switch mod.State {
		case fleet.ModuleReady, fleet.ModuleDrifted, fleet.ModuleFrozen, fleet.ModuleDeferred:
		default:
			return strings.TrimSuffix(fmt.Sprintf("the module %s is %s: %s", mod.Module, mod.State, mod.Error), ": ")
		}
	}
	return ""
}

// closed returns why no window is open, or "".
func (h agentHost) closed() string {
	kept, err := h.kept()
	if err != nil {
		return err.Error()
	}
	if kept.Accepted == nil || len(kept.Accepted.Windows) == 0 {
		return ""
	}
	zone := ""
	if of := h.s.App.Agent.Zone; of != nil {
		zone = of(h.m)
	}
	set, err := window.Compile(kept.Accepted.Windows, zone)
	if err != nil {
		return err.Error()
	}
	return set.At(h.s.App.Now()).Why
}

// kept reads the state that the agent stored.
func (h agentHost) kept() (machine.StoredState, error) {
	dir, err := durable.Look(h.files, h.dir)
	if err != nil {
		return machine.StoredState{}, err
	}
	return dir.Load()
}
