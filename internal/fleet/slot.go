package fleet

import (
	"encoding/json"
	"fmt"
)

// SlotAction is a request of an agent for a slot of any lock, for a run.
type SlotAction string

// Requests for slots.
const (
	SlotAcquire SlotAction = "acquire" // a slot, or a new lease of the slot
	SlotRelease SlotAction = "release"
	SlotObserve SlotAction = "observe" // whether a slot would be granted now; it changes nothing
)

// maxSlotRequest is the maximum size of a request, in bytes.
const maxSlotRequest = 1 << 10

// SlotRequest concerns a slot that a run of the target needs.
type SlotRequest struct {
	Action SlotAction `json:"action"`
	Lock   string     `json:"lock"`
	// Token limits a SlotRelease to the slot with this token; 0 means any.
	Token uint64 `json:"token,omitempty"`
	// Order is larger than the Order of all earlier requests of the target. A SlotRelease that arrives after a later
	// SlotAcquire has no effect; 0 means unknown.
	Order uint64 `json:"order,omitempty"`
}

// SlotAnswer is the answer to a SlotRequest.
type SlotAnswer struct {
	Granted bool   `json:"granted,omitempty"`
	Token   uint64 `json:"token,omitempty"`    // of a granted slot
	Lease   int64  `json:"lease_ns,omitempty"` // of a granted slot, from the request on
	// Free means that an observed lock would grant a slot now.
	Free bool `json:"free,omitempty"`
	// Why is the reason for which no slot is granted now, for display.
	Why string `json:"why,omitempty"`
	// Wait is the time for which a run waits for a slot that is not granted; 0 is the default.
	Wait int64 `json:"wait_ns,omitempty"`
	// Unknown means that the fleet has no such lock, or that the repository no longer declares it.
	Unknown bool `json:"unknown,omitempty"`
}

// ParseSlotRequest parses a request. Unknown fields are errors.
func ParseSlotRequest(b []byte) (r SlotRequest, err error) {
	if len(b) > maxSlotRequest {
		return r, fmt.Errorf("cannot read a request for a slot of %d bytes", len(b))
	}
	if err := decode(b, &r); err != nil {
		return r, fmt.Errorf("cannot read a request for a slot: %w", err)
	}
	if r.Action != SlotAcquire && r.Action != SlotRelease && r.Action != SlotObserve {
		return r, fmt.Errorf("cannot understand the request %.40q for a slot", r.Action)
	}
	return r, nil
}

// ParseSlotAnswer parses an answer. Unknown fields are ignored, so that hubs can be newer than agents.
func ParseSlotAnswer(b []byte) (a SlotAnswer, err error) {
	if err = json.Unmarshal(b, &a); err != nil {
		err = fmt.Errorf("cannot read the answer to a request for a slot: %w", err)
	}
	return a, err
}
