package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// serve registers the handlers of requests from agents.
func (h *Hub) serve() error {
	for word, answer := range map[string]func(context.Context, fleet.TargetID, []byte) ([]byte, error){
		fleet.MessageAssignment: h.onAssignment,
		fleet.MessageReport:     h.onReport,
		fleet.MessageBeat:       h.onBeat,
		fleet.MessageExports:    h.onExports,
		fleet.MessageRequest:    h.onRequest,
		fleet.MessageJobAnswer:  h.onJobAnswer,
		fleet.MessageHubs:       h.onHubs,
		fleet.MessageLists:      h.onLists,
		fleet.MessageContent:    h.onContent,
		fleet.MessageClaim:      h.claims.answer,
	} {
		if err := h.exchange.Serve(word, answer); err != nil {
			return err
		}
	}
	return nil
}

// active returns an active target. If the registry has no entry of a target with a valid
// certificate, the entry was lost: rebuild restores it.
func (h *Hub) active(ctx context.Context, id fleet.TargetID) (fleet.Target, error) {
	t, _, ok := h.targets.get(string(id))
	if !ok {
		return t, fmt.Errorf("%w: this hub has no entry of the target %s", fleet.ErrNotFound, id)
	}
	if t.Standing != fleet.Active {
		return t, fmt.Errorf("%w: the target %s is %s", fleet.ErrDenied, t.Name, t.Standing)
	}
	return t, nil
}

// onAssignment returns the assignment of an agent if the agent has an older one, otherwise nil.
func (h *Hub) onAssignment(ctx context.Context, from fleet.TargetID, body []byte) ([]byte, error) {
	var have fleet.Have
	if err := json.Unmarshal(body, &have); err != nil {
		return nil, fmt.Errorf("cannot read the request: %w", err)
	}
	h.view.RecordContact(from, h.now())
	g, _, ok := h.assignments.get(string(from))
	was := fleet.Assignment{Epoch: have.Epoch, Generation: have.Generation}
	if h.mayBeBehind(have, g.assignment) {
		h.checkMinimumGeneration(from)
	}
	if !ok || g.assignment.Newer(was) <= 0 || h.claims.isCloned(from) {
		return nil, nil
	}
	return g.envelope()
}

// mayBeBehind reports whether an agent claims a newer assignment than this hub has. If this hub has
// none, the next assignment belongs to the current epoch, which then must be newer than the claim.
func (h *Hub) mayBeBehind(have fleet.Have, g fleet.Assignment) bool {
	if r, _, _ := h.rules.get(ruleKey); g.Epoch == 0 && have.Epoch < r.Epoch {
		return false
	}
	return g.Newer(fleet.Assignment{Epoch: have.Epoch, Generation: have.Generation}) < 0
}

// checkMinimumGeneration asks an agent for its signed assignment. An unsigned claim is not enough:
// one agent could push the epoch of the fleet to the maximal number.
func (h *Hub) checkMinimumGeneration(id fleet.TargetID) {
	h.retryQueue.add(h.ctx, retryTask{
		key: "floor/" + string(id),
		do:  func(ctx context.Context) error { return h.raiseMinimumGeneration(ctx, id) },
		again: func(err error) bool {
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
	had, rev, _ := h.minimumGenerations.get(string(id))
	if had == floor {
		return nil
	}
	return h.minimumGenerations.put(ctx, string(id), floor, rev)
}

// onBeat records the contact and the clock of an agent, and sends a newer assignment if there is
// one.
func (h *Hub) onBeat(ctx context.Context, from fleet.TargetID, body []byte) ([]byte, error) {
	var b fleet.Beat
	if err := json.Unmarshal(body, &b); err != nil {
		return nil, err
	}
	h.view.RecordContact(from, h.now())
	h.clockOf(ctx, from, time.Unix(0, b.Clock))
	if g, _, ok := h.assignments.get(string(from)); ok && g.assignment.Newer(fleet.Assignment{Epoch: b.Have.Epoch, Generation: b.Have.Generation}) > 0 {
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
	h.compatible(id)
	go h.jobDispatcher.deliver(h.ctx, id)
}

// onAssignmentRecord sends a new assignment to its target if it is connected to this hub.
func (h *Hub) onAssignmentRecord(_ string, g assignmentRecord, _ uint64, gone bool) {
	if gone {
		return
	}
	select {
	case h.wanting <- struct{}{}:
	default:
	}
	if h.exchange.IsConnected(g.assignment.Target) { // otherwise another hub pushes it, or the agent asks when it connects
		h.push(g)
	}
}

func (h *Hub) push(g assignmentRecord) {
	if h.claims.isCloned(g.assignment.Target) {
		return
	}
	envelope, err := g.envelope()
	if err == nil {
		err = h.exchange.Tell(g.assignment.Target, fleet.MessageAssigned, envelope)
	}
	if err != nil {
		h.warn(err.Error())
	}
}
