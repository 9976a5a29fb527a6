package main

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
	"time"
)

// TestSignals: a command that has taken over the signals receives two, and nothing is cancelled.
// After it returns them, the next one cancels the context and is named as the cause.
func TestSignals(t *testing.T) {
	s := newSignals(t.Context())
	defer s.stop()
	send := func() {
		if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
	}
	ch, giveBack := s.take()
	for range 2 {
		send()
		select {
		case <-ch:
		case <-time.After(time.Minute):
			t.Fatal("the command was not told")
		}
	}
	if s.ctx.Err() != nil {
		t.Error("a signal that was taken has cancelled the context")
	}
	giveBack()
	again, giveBack := s.take()
	send()
	<-again
	giveBack()
	send()
	select {
	case <-s.ctx.Done():
	case <-time.After(time.Minute):
		t.Fatal("the context was not cancelled")
	}
	if err := context.Cause(s.ctx); !errors.Is(err, context.Canceled) ||
		err.Error() != "interrupted by a signal (interrupt)" {
		t.Errorf("the cause is %v", err)
	}
}
