package hostreboot

import (
	"context"
	"encoding/json"
	"time"

	"fettle.dev/fettle/internal/executor/agentsocket"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/reboot"
	"fettle.dev/fettle/internal/fleet/agent/slots"
	"fettle.dev/fettle/internal/fleet/smallfile"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/ui/cli"
)

// The intervals of the slots of runs.
const (
	slotAgain = 10 * time.Second
	slotLook  = 5 * time.Second
)

// hubPatience limits the time for an answer of a hub.
const hubPatience = 20 * time.Second

// keeperOfRuns returns the part of the agent that holds the slots of runs.
func keeperOfRuns(h agentHost, link fleet.Link, warn func(string), reboots *reboot.Keeper) *slots.Keeper {
	order := &slots.Sequence{State: h.files, File: h.dir + "/slots-order.json", Now: h.s.App.Now}
	return &slots.Keeper{State: h.files, File: h.dir + "/slots.json", Busy: h.busy, Reserved: reboots.Holds,
		Order: order.Next, Clock: h.s.App.Agent.Clock, Warn: warn, Again: slotAgain, Look: slotLook,
		Ask: func(ctx context.Context, r fleet.SlotRequest) (fleet.SlotAnswer, error) {
			return askSlot(ctx, link, r)
		}}
}

// serveRuns serves runs of this host, until end is called. Without it, runs get no slots of locks, and runs that wait
// for a barrier or a signal fail after their timeouts.
func serveRuns(ctx context.Context, s *cli.Printer, m cli.Machine, root host.FS, link fleet.Link,
	k *slots.Keeper) (end func()) {
	if s.App.Agent.Runs == nil {
		return func() {}
	}
	topics := agentsocket.Server{
		agentsocket.Slots: agentsocket.Conversation(k.Serve),
		agentsocket.Locks: agentsocket.Answering(k.Describe),
		agentsocket.Waits: agentsocket.Answering(func(ctx context.Context, request []byte) ([]byte, error) {
			return askWait(ctx, link, k, request)
		}),
	}
	endServe, err := func() {}, smallfile.Directory(root, agentsocket.Directory)
	if err == nil {
		endServe, err = s.App.Agent.Runs(ctx, m, topics.Serve)
	}
	if err != nil { // the agent applies other states nevertheless
		k.Warn("runs of this host get no slots of locks, and cannot wait for other hosts: " + err.Error())
		endServe = func() {}
	}
	done := make(chan struct{})
	go func() { defer close(done); k.Run(ctx) }()
	return func() { endServe(); <-done }
}

// askWait asks a hub about a barrier or a signal. The requests of the host have an order.
func askWait(ctx context.Context, link fleet.Link, k *slots.Keeper, request []byte) ([]byte, error) {
	if r, err := fleet.ParseWaitRequest(request); err == nil { // otherwise the hub refuses it
		r.Order = k.Order()
		if request, err = json.Marshal(r); err != nil {
			return nil, err
		}
	}
	return link.Ask(ctx, fleet.MessageWait, request)
}

func askSlot(ctx context.Context, link fleet.Link, r fleet.SlotRequest) (fleet.SlotAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, hubPatience)
	defer cancel()
	body, err := json.Marshal(r)
	if err == nil {
		body, err = link.Ask(ctx, fleet.MessageSlot, body)
	}
	if err != nil {
		return fleet.SlotAnswer{}, err
	}
	return fleet.ParseSlotAnswer(body)
}

// busy reports whether a run of the host is unfinished, or another process changes the host.
func (h agentHost) busy(ctx context.Context) (bool, error) {
	x, done, err := h.s.App.OpenExecutor(ctx, h.m)
	if err != nil {
		return false, err
	}
	defer func() { _ = done() }()
	c, err := x.Condition(ctx)
	return c.Unfinished > 0 || c.Locked != "", err
}
