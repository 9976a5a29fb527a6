package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/hub/limits"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// serve registers the handlers of requests from agents.
func (h *Hub) serve() error {
	for word, answer := range map[string]func(context.Context, fleet.TargetID, []byte) ([]byte, error){
		fleet.MessageAssignment: h.onAssignment,
		fleet.MessageReport:     h.targets.OnReport,
		fleet.MessageBeat:       h.onBeat,
		fleet.MessageExports:    h.onExports,
		fleet.MessageRequest:    h.requests.OnRequest,
		fleet.MessageJobAnswer:  h.jobs.OnAnswer,
		fleet.MessageHubs:       h.members.OnHubs,
		fleet.MessageLists:      h.certificates.OnLists,
		fleet.MessageContent:    h.onContent,
		fleet.MessageClaim:      h.targets.AnswerClaim,
	} {
		if err := h.exchange.Serve(word, answer); err != nil {
			return err
		}
	}
	return nil
}

// onAssignment returns the assignment of an agent if the agent has an older one, otherwise nil.
func (h *Hub) onAssignment(ctx context.Context, from fleet.TargetID, body []byte) ([]byte, error) {
	var have fleet.Have
	if err := json.Unmarshal(body, &have); err != nil {
		return nil, fmt.Errorf("cannot read the request: %w", err)
	}
	h.view.RecordContact(from, h.now())
	g, _, ok := h.records.Assignments.Get(string(from))
	was := fleet.Assignment{Epoch: have.Epoch, Generation: have.Generation}
	if h.mayBeBehind(have, g.Assignment) {
		h.checkMinimumGeneration(from)
	}
	if !ok || g.Assignment.Newer(was) <= 0 || h.targets.IsCloned(from) {
		return nil, nil
	}
	return g.Envelope()
}

// mayBeBehind reports whether an agent claims a newer assignment than this hub has. If this hub has
// none, the next assignment belongs to the current epoch, which then must be newer than the claim.
func (h *Hub) mayBeBehind(have fleet.Have, g fleet.Assignment) bool {
	if r, _, _ := h.records.Epochs.Get(records.EpochKey); g.Epoch == 0 && have.Epoch < r.Number {
		return false
	}
	return g.Newer(fleet.Assignment{Epoch: have.Epoch, Generation: have.Generation}) < 0
}

// checkMinimumGeneration asks an agent for its signed assignment. An unsigned claim is not enough:
// one agent could push the epoch of the fleet to the maximal number.
func (h *Hub) checkMinimumGeneration(id fleet.TargetID) {
	h.retryQueue.Add(h.ctx, limits.RetryTask{
		Key: "floor/" + string(id),
		Do:  func(ctx context.Context) error { return h.raiseMinimumGeneration(ctx, id) },
		Again: func(err error) bool {
			h.warn(fmt.Sprintf("cannot store the generation of the assignment that the target %s has: %v", id, err))
			return h.exchange.IsConnected(id)
		},
	})
}

func (h *Hub) raiseMinimumGeneration(ctx context.Context, id fleet.TargetID) error {
	envelope, err := h.exchange.Ask(ctx, id, fleet.MessageShow, nil)
	if err != nil || len(envelope) == 0 {
		return err
	}
	keys, err := h.signingKeys()
	if err != nil {
		return err
	}
	a, err := fleet.OpenAssignment(envelope, keys)
	if err != nil || a.Target != id {
		h.warn(fmt.Sprintf("the target %s has sent an assignment that no hub of this fleet signed for it", id))
		return nil
	}
	floor := fleet.Have{Epoch: a.Epoch, Generation: a.Generation}
	had, rev, _ := h.records.MinimumGenerations.Get(string(id))
	if had == floor {
		return nil
	}
	return h.records.MinimumGenerations.Put(ctx, string(id), floor, rev)
}

// onBeat records the contact and the clock of an agent, and sends a newer assignment if there is
// one.
func (h *Hub) onBeat(ctx context.Context, from fleet.TargetID, body []byte) ([]byte, error) {
	var b fleet.Beat
	if err := json.Unmarshal(body, &b); err != nil {
		return nil, err
	}
	h.view.RecordContact(from, h.now())
	h.targets.OnClock(ctx, from, time.Unix(0, b.Clock))
	if g, _, ok := h.records.Assignments.Get(string(from)); ok &&
		g.Assignment.Newer(fleet.Assignment{Epoch: b.Have.Epoch, Generation: b.Have.Generation}) > 0 {
		h.push(g) // the assignment is newer than the last request, or the agent rejected an earlier push
	}
	return nil, nil
}

// onPresence handles an agent that connects to this hub or disconnects.
func (h *Hub) onPresence(id fleet.TargetID, here bool) {
	h.view.RecordConnection(id, here)
	if !here {
		return
	}
	h.view.RecordContact(id, h.now())
	h.notices.Compatible(id)
	go h.jobs.Deliver(h.ctx, id)
}

// onAssignmentRecord sends a new assignment to its target if it is connected to this hub.
func (h *Hub) onAssignmentRecord(_ string, g records.Assignment, _ uint64, gone bool) {
	if gone {
		return
	}
	select {
	case h.wanting <- struct{}{}:
	default:
	}
	if h.exchange.IsConnected(g.Assignment.Target) { // otherwise another hub pushes it, or the agent asks when it connects
		h.push(g)
	}
}

func (h *Hub) push(g records.Assignment) {
	if h.targets.IsCloned(g.Assignment.Target) {
		return
	}
	envelope, err := g.Envelope()
	if err == nil {
		err = h.exchange.Tell(g.Assignment.Target, fleet.MessageAssigned, envelope)
	}
	if err != nil {
		h.warn(err.Error())
	}
}

// onReleased sends a target its assignment and its jobs, and requests claims. If several hosts
// still have the identity of the target, these claims prove it at once.
func (h *Hub) onReleased(id fleet.TargetID) {
	if !h.exchange.IsConnected(id) {
		return
	}
	_ = h.exchange.Tell(id, fleet.MessageClaim, nil) // if it fails: agents also claim on their own
	go h.jobs.Deliver(h.ctx, id)
	if g, _, ok := h.records.Assignments.Get(string(id)); ok {
		h.push(g)
	}
}
