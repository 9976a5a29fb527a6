package hub

import (
	"context"

	"fettle.dev/fettle/internal/fleet"
)

// serve registers the handlers of requests from agents.
func (h *Hub) serve() error {
	for word, answer := range map[string]func(context.Context, fleet.TargetID, []byte) ([]byte, error){
		fleet.MessageAssignment: h.agents.OnAssignment,
		fleet.MessageReport:     h.targets.OnReport,
		fleet.MessageBeat:       h.agents.OnBeat,
		fleet.MessageExports:    h.exports.OnExports,
		fleet.MessageRequest:    h.requests.OnRequest,
		fleet.MessageJobAnswer:  h.jobs.OnAnswer,
		fleet.MessageHubs:       h.members.OnHubs,
		fleet.MessageLists:      h.certificates.OnLists,
		fleet.MessageContent:    h.contents.OnContent,
		fleet.MessageClaim:      h.targets.AnswerClaim,
		fleet.MessageReboot:     h.locks.OnReboot,
		fleet.MessageSlot:       h.locks.OnSlot,
		fleet.MessageWait:       h.waits.OnWait,
	} {
		if err := h.exchange.Serve(word, answer); err != nil {
			return err
		}
	}
	return nil
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

// onReleased sends a target its assignment and its jobs, and requests claims. If several hosts
// still have the identity of the target, these claims prove it at once.
func (h *Hub) onReleased(id fleet.TargetID) {
	if !h.exchange.IsConnected(id) {
		return
	}
	_ = h.exchange.Tell(id, fleet.MessageClaim, nil) // if it fails: agents also claim on their own
	go h.jobs.Deliver(h.ctx, id)
	if g, _, ok := h.records.Assignments.Get(string(id)); ok {
		h.agents.Push(g)
	}
}
