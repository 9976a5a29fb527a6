package fleet

import "fmt"

// RebootAction is a request of an agent for a reboot of its host.
type RebootAction string

// Requests for a reboot.
const (
	RebootLock    RebootAction = "lock"    // only the name of the lock, and whether the target is exempt
	RebootAcquire RebootAction = "acquire" // a slot of the named lock, or a new lease of the slot
	RebootRelease RebootAction = "release" // release the slot of the named lock
)

// maxRebootRequest is the maximum size of a request, in bytes.
const maxRebootRequest = 1 << 10

// RebootRequest concerns the lock that limits reboots.
type RebootRequest struct {
	Action RebootAction `json:"action"`
	Lock   string       `json:"lock,omitempty"` // of RebootAcquire and RebootRelease
	// Token limits a RebootRelease to the slot with this token, so that a delayed request cannot release a later slot
	// of the target; 0 means any.
	Token uint64 `json:"token,omitempty"`
	// Order is larger than the Order of all earlier requests of the target, also of those for runs. A RebootRelease
	// that arrives after a later request for the slot has no effect; 0 means unknown.
	Order uint64 `json:"order,omitempty"`
}

// RebootSlot is the answer to a RebootRequest.
type RebootSlot struct {
	// Lock limits reboots; "" means that the repository declares no such lock.
	// If it is not the lock of the request, nothing was acquired.
	Lock    string `json:"lock,omitempty"`
	Granted bool   `json:"granted,omitempty"`
	Token   uint64 `json:"token,omitempty"`    // of a granted slot
	Lease   int64  `json:"lease_ns,omitempty"` // of a granted slot, from the request on
	// Why is the reason for which no slot is granted now, for display.
	Why string `json:"why,omitempty"`
	// Exempt means that an exemption lets the target reboot outside of its windows now. Hubs of earlier versions do not
	// set it.
	Exempt bool `json:"exempt,omitempty"`
}

// ParseRebootRequest parses a request. Unknown fields are errors.
func ParseRebootRequest(b []byte) (r RebootRequest, err error) {
	if len(b) > maxRebootRequest {
		return r, fmt.Errorf("cannot read a request for a reboot of %d bytes", len(b))
	}
	if err := decode(b, &r); err != nil {
		return r, fmt.Errorf("cannot read a request for a reboot: %w", err)
	}
	switch r.Action {
	case RebootLock, RebootAcquire, RebootRelease:
		return r, nil
	}
	return r, fmt.Errorf("cannot understand the request %.40q for a reboot", r.Action)
}
