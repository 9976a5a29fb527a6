package cli

import (
	"context"
	"fmt"

	"fettle.dev/fettle/internal/executor"
)

// WithExecutor opens the engine, calls fn and closes the engine. Where there is
// no state directory yet none is made: looking leaves nothing behind.
func WithExecutor(ctx context.Context, s *Session, fn func(executor.Executor) error) error {
	m, err := s.Machine()
	if err != nil {
		return err
	}
	m.ReadOnly = !FileExists(m.State)
	return s.onTarget(ctx, m, fn)
}

// WithState is withExecutor for commands that record something: it creates the state directory.
func WithState(ctx context.Context, s *Session, fn func(executor.Executor) error) error {
	m, err := s.Machine()
	if err != nil {
		return err
	}
	return s.onTarget(ctx, m, fn)
}

// onTarget is open for the machine that -t and --ssh name, which may be another one.
func (s *Session) onTarget(ctx context.Context, m Machine, fn func(executor.Executor) error) error {
	r, err := s.Connected(ctx, s.Target)
	switch {
	case err != nil:
		return err
	case r.Here:
		return open(ctx, s, m, fn)
	}
	return fn(s.patient(r.remote))
}

// DecideAndDo opens the engine for a decision and then for its execution. If decide returns an error, nothing is
// created, not even an empty state directory.
func (s *Session) DecideAndDo(ctx context.Context, decide, do func(executor.Executor) error) error {
	m, err := s.Machine()
	if err != nil {
		return err
	}
	both := func(x executor.Executor) error {
		if err := decide(x); err != nil {
			return err
		}
		return do(x)
	}
	r, err := s.Connected(ctx, s.Target)
	if err != nil {
		return err
	}
	if !r.Here {
		return both(s.patient(r.remote))
	}
	if FileExists(m.State) {
		return open(ctx, s, m, both)
	}
	looking := m
	looking.ReadOnly = true
	if err := open(ctx, s, looking, decide); err != nil {
		return err
	}
	return open(ctx, s, m, do)
}

func open(ctx context.Context, s *Session, m Machine, fn func(executor.Executor) error) (err error) {
	x, done, err := s.App.OpenExecutor(ctx, m)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := done(); err == nil {
			err = cerr
		}
	}()
	return fn(s.patient(x))
}

// patient waits for the lock, if the command line requests it.
func (s *Session) patient(x executor.Executor) executor.Executor {
	return executor.Patient(x, executor.Patience{For: s.lockWait, OnFirstRefusal: func(err error) {
		fmt.Fprintf(s.App.Stderr, "Waiting up to %s: %v\n", s.lockWait, err)
	}})
}
