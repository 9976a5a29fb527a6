// Package hostreboot connects parts of an agent with the executor of this host. They serve runs, and hold slots of
// locks for runs and reboots.
//
//	end, err := hostreboot.Keep(ctx, s, m, files, hostreboot.Agent{Dir: dir, Boot: boot, Link: link, Warn: a.Warn})
package hostreboot

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"strings"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/reboot"
	"fettle.dev/fettle/internal/fleet/agent/slots"
	"fettle.dev/fettle/internal/fleet/smallfile"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/ui/cli"
)

// Agent connects to hubs for this host. Dir is its directory in the state directory.
type Agent struct {
	Dir, Boot string
	Link      fleet.Link
	Warn      func(text string)
}

// Keep serves the runs of this host, until end is called. It also reboots this host with a slot of a lock.
func Keep(ctx context.Context, s *cli.Printer, m cli.Machine, files host.FS, a Agent) (end func(), err error) {
	if s.App.Agent.Services == nil {
		return func() {}, nil
	}
	root, _, closing, err := s.App.Agent.Services(m)
	if err != nil {
		return nil, err
	}
	h := agentHost{s: s, m: m, files: files, dir: a.Dir, began: s.App.Now()}
	k := &reboot.Keeper{State: files, File: a.Dir + "/reboot.json", Host: root, Boot: a.Boot,
		Command: h.command, NotReady: h.notReady, Closed: h.closed, Now: s.App.Now, Warn: a.Warn}
	runs := keeperOfRuns(h, a.Link, a.Warn, k)
	k.Ask = func(ctx context.Context, r fleet.RebootRequest) (fleet.RebootSlot, error) {
		return askReboot(ctx, a.Link, runs, r)
	}
	ctx, cancel := context.WithCancel(ctx)
	endRuns := serveRuns(ctx, s, m, root, a.Link, runs)
	done := make(chan struct{})
	go func() { defer close(done); k.Run(ctx) }()
	return func() { cancel(); endRuns(); <-done; _ = closing() }, nil
}

// askReboot asks a hub. It does not release a slot that a run needs too: the run releases it.
func askReboot(ctx context.Context, link fleet.Link, runs *slots.Keeper,
	r fleet.RebootRequest) (slot fleet.RebootSlot, err error) {
	ctx, cancel := context.WithTimeout(ctx, hubPatience)
	defer cancel()
	if r.Action != fleet.RebootLock {
		runs.Gate.Lock()
		defer runs.Gate.Unlock()
		r.Order = runs.Order()
	}
	if r.Action == fleet.RebootRelease && runs.Holds(r.Lock) {
		return fleet.RebootSlot{Lock: r.Lock}, nil
	}
	body, err := json.Marshal(r)
	if err == nil {
		body, err = link.Ask(ctx, fleet.MessageReboot, body)
	}
	if err == nil {
		err = json.Unmarshal(body, &slot)
	}
	return slot, err
}

// Status returns the line about a reboot of this host that waits, or "".
func Status(s *cli.Printer, m cli.Machine) (string, error) {
	if s.App.Agent.Services == nil {
		return "", nil
	}
	root, _, closing, err := s.App.Agent.Services(m)
	if err != nil {
		return "", err
	}
	defer func() { _ = closing() }()
	text, err := smallfile.Read(root, reboot.StatusFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(text)), err
}
