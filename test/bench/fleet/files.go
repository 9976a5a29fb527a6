package main

import (
	"fmt"
	"slices"
	"syscall"
)

// manyFiles lets this process, and those that it starts, have as many files open as it
// may, and more where nobody forbids it. It gives how many.
func manyFiles() (int, error) {
	const want = 1 << 18
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 0, fmt.Errorf("cannot read how many files may be open: %w", err)
	}
	if more := max(l.Max, want); syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: more, Max: more}) == nil {
		return int(more), nil
	}
	l.Cur = l.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 0, fmt.Errorf("cannot have many files open: %w", err)
	}
	return int(l.Max), nil
}

const (
	// most is how many agents fetch at the same time: each has one more connection to the
	// hub meanwhile.
	most = 2000
	// own is what a hub has open besides connections of agents, and room for those that
	// begin anew before their old one is gone.
	own = 500
)

// fetching is how many of so many agents may fetch at the same time where a process may
// have so many files open.
func fetching(n, files int) int { return max(1, min(most, files-n-own)) }

// carried makes numbers of agents for which a hub had too few files those that it can carry.
func (s *settings) carried(files int) {
	s.files = files
	can := max(1, files-own-most/2)
	for i, n := range s.agents {
		if n > can {
			s.agents[i], s.short = can, files
		}
	}
	s.agents = slices.Compact(s.agents)
}
