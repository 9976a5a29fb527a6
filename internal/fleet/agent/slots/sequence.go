package slots

import (
	"encoding/json"
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet/smallfile"
	"fettle.dev/fettle/internal/host"
)

// Sequence numbers the requests of a host for slots, so that a hub recognizes a request that arrives late. It is safe
// for concurrent use. The fields above mu are required.
type Sequence struct {
	State host.FS // the state directory of the agent
	File  string  // in State
	Now   func() time.Time

	mu   sync.Mutex
	last uint64 // 0: none
}

// perProcess is the number of requests of one process of the agent. It is far larger than any possible number.
const perProcess = 1 << 28

// Next returns a number that is larger than all numbers before, also of earlier processes of the agent. It is also
// larger if the disk of the host was restored from a copy, unless the clock of the host was wrong. If the number of the
// process cannot be stored, Next returns 0: hubs then accept the request in any order.
func (s *Sequence) Next() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == 0 {
		process := s.process()
		if process == 0 {
			return 0
		}
		s.last = process * perProcess
	}
	s.last++
	return s.last
}

// process stores and returns the number of this process: the time in s since 1970, but at least the next number.
func (s *Sequence) process() uint64 {
	var stored uint64
	if text, err := smallfile.Read(s.State, s.File); err == nil {
		_ = json.Unmarshal(text, &stored) // a file that cannot be read is replaced
	}
	next := max(stored+1, uint64(max(s.Now().Unix(), 1)))
	text, err := json.Marshal(next)
	if err == nil {
		err = smallfile.Write(s.State, s.File, text)
	}
	if err != nil || next >= 1<<35 {
		return 0
	}
	return next
}
