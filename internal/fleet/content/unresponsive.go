package content

import (
	"slices"
	"sync"
)

// unresponsiveBases is the set of bases whose last request had no answer. The zero value is ready
// to use. Its methods may be called from any goroutine.
type unresponsiveBases struct {
	mu  sync.Mutex
	all map[string]bool
}

// note records whether a base was silent.
func (s *unresponsiveBases) note(base string, silent bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !silent {
		delete(s.all, base)
		return
	}
	if s.all == nil {
		s.all = map[string]bool{}
	}
	s.all[base] = true
}

// last returns bases with the silent ones at the end. A frozen hub accepts connections, so each
// request to it takes until the time limit.
func (s *unresponsiveBases) last(bases []string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := slices.Clone(bases)
	slices.SortStableFunc(out, func(a, b string) int {
		switch {
		case s.all[a] == s.all[b]:
			return 0
		case s.all[a]:
			return 1
		}
		return -1
	})
	return out
}

// byAsk is the key of Fetcher.FetchSmall, which has no address.
const byAsk = ""

func (s *unresponsiveBases) is(base string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[base]
}
