package fleet

import "fmt"

// WaitAction is a request of an agent about a barrier or a signal.
type WaitAction string

// Requests about a barrier or a signal.
const (
	WaitArrive   WaitAction = "arrive"   // at a barrier, or a repetition
	WaitWithdraw WaitAction = "withdraw" // the arrival
	WaitSignal   WaitAction = "signal"   // whether the signal was sent
	SendSignal   WaitAction = "send"     // a signal
)

// MaxPayload is the maximum size of the payload of a signal, in bytes.
const MaxPayload = 4 << 10

// maxWaitRequest is the maximum size of a request, in bytes. JSON can need six bytes for one byte of a payload.
const maxWaitRequest = 6*MaxPayload + 1<<10

// WaitRequest concerns a barrier or a signal.
type WaitRequest struct {
	Action WaitAction `json:"action"`
	Name   string     `json:"name"` // of the barrier or signal
	// Run identifies an arrival. A repetition has the same value.
	Run string `json:"run,omitempty"`
	// Order is larger than the Order of all earlier requests of the target; 0 means unknown. The agent sets it.
	Order uint64 `json:"order,omitempty"`
	// Age limits a WaitSignal to signals that were sent in this time, in ns; 0 means no limit.
	Age     int64  `json:"age_ns,omitempty"`
	Payload string `json:"payload,omitempty"` // of SendSignal
}

// WaitAnswer is the answer to a WaitRequest.
type WaitAnswer struct {
	// Done means that the barrier opened, that the signal was sent, or that the request had its effect.
	Done bool `json:"done,omitempty"`
	// Why is the reason for which the target must wait, or for which the request has no effect, for display.
	Why        string `json:"why,omitempty"`
	Generation uint64 `json:"generation,omitempty"` // of a barrier that opened
	Payload    string `json:"payload,omitempty"`    // of the newest signal
}

// ParseWaitRequest parses a request. Unknown fields are errors.
func ParseWaitRequest(b []byte) (r WaitRequest, err error) {
	if len(b) > maxWaitRequest {
		return r, fmt.Errorf("cannot read a request about a barrier or signal of %d bytes", len(b))
	}
	if err := decode(b, &r); err != nil {
		return r, fmt.Errorf("cannot read a request about a barrier or signal: %w", err)
	}
	switch r.Action {
	case WaitArrive, WaitWithdraw, WaitSignal, SendSignal:
		return r, nil
	}
	return r, fmt.Errorf("cannot understand the request %.40q about a barrier or signal", r.Action)
}
