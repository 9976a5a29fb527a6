package leader

import (
	"sync"

	"fettle.dev/fettle/internal/fleet/assign"
)

// Leader leads while its hub holds the lease. It is safe for concurrent use: mu protects term and
// out. The lock of a queue is not taken under it.
type Leader struct {
	Config

	previews chan struct{} // has a value while Preview computes

	mu   sync.Mutex
	term *term // nil while another hub leads
	out  assign.Output
}

// New returns a leader that does not lead yet.
func New(c Config) *Leader { return &Leader{Config: c, previews: make(chan struct{}, 1)} }

func (l *Leader) current() *term {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.term
}

// Leads reports whether this hub leads now.
func (l *Leader) Leads() bool { return l.current() != nil }
