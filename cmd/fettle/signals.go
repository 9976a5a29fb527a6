package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"fettle.dev/fettle/internal/executor/here"
)

// signals are the signals with which a user or the system stops this program. The first cancels the
// context, and the second ends the process as if it were not handled. A command can take over the
// signals; they then have no other effect. A closed reader does not end the program in the middle
// of a run: SIGPIPE becomes an error of the write.
type signals struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	ch     chan os.Signal
	ended  chan struct{}

	mu    sync.Mutex
	taken chan struct{} // nil if no command has taken them over
	count int
}

func newSignals(ctx context.Context) *signals {
	s := &signals{ch: make(chan os.Signal, 4), ended: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	signal.Notify(s.ch, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go s.watch()
	return s
}

func (s *signals) watch() {
	for {
		select {
		case sig := <-s.ch:
			s.got(sig)
		case <-s.ended:
			return
		}
	}
}

// patience is the number of signals that a command which has taken them over receives; the next one
// ends the process.
const patience = 2

func (s *signals) got(sig os.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	switch {
	case s.taken != nil && s.count <= patience:
		s.taken <- struct{}{}
	case s.taken == nil && s.count == 1:
		fmt.Fprintf(os.Stderr, "\nfettle: %s: stopping cleanly; once more ends it at once\n", sig)
		s.cancel(here.Interrupted{By: sig})
	default:
		signal.Reset(sig)
		if n, ok := sig.(syscall.Signal); ok {
			_ = syscall.Kill(os.Getpid(), n)
		}
	}
}

// take sends the signals to the returned channel, until the returned function is called.
func (s *signals) take() (<-chan struct{}, func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := make(chan struct{}, patience)
	s.taken, s.count = ch, 0
	return ch, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.taken, s.count = nil, 0
	}
}

func (s *signals) stop() {
	signal.Stop(s.ch)
	close(s.ended)
	s.cancel(nil)
}
