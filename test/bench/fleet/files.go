package main

import (
	"fmt"
	"slices"
	"syscall"
)

// manyFiles raises the limit of open files for this process and its children as far as allowed, and
// returns the limit.
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
	// most is the maximum number of agents that fetch at the same time. Each of them has an additional
	// connection to the hub.
	most = 2000
	// own is the number of files of a hub other than connections of agents. It includes space for
	// agents that reconnect before their old connection is closed.
	own = 500
)

// fetching returns how many of n agents may fetch at the same time if a process may have so many files
// open.
func fetching(n, files int) int { return max(1, min(most, files-n-own)) }

// served returns the number of agents that a hub serves. It reserves files for its store, and for users.
func served(files int) int {
	rest := files - min(files/4, 4096)
	return rest - min(rest/4, 4096) - own
}

// carried reduces the numbers of agents to those for which the hub has enough files.
func (s *settings) carried(files int) {
	s.files = files
	can := max(1, served(files))
	for i, n := range s.agents {
		if n > can {
			s.agents[i], s.short = can, files
		}
	}
	s.agents = slices.Compact(s.agents)
}
