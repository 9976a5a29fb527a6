package journal

import (
	"errors"
	"fmt"
)

// SaveState durably stores the applied state after st.Run and makes it the current state. Storing
// it again changes nothing.
func (s *States) SaveState(st State) error {
	if st.Run < 1 {
		return fmt.Errorf("cannot save the state of run %d: runs count from 1", st.Run)
	}
	if st.Format == 0 {
		st.Format = format
	}
	if err := s.saveSealed(statePath(st.Run), st); err != nil {
		return err
	}
	return s.saveSealed("/current", current{Run: st.Run})
}

// readState reads the file of a state.
func (s *States) readState(run int) (State, error) {
	if st, ok := s.remembered(run); ok {
		return st, nil
	}
	before, serr := s.fs.Lstat(statePath(run))
	var st State
	err := s.loadSealed(statePath(run), &st)
	var newer *NewerFormatError
	switch {
	case errors.As(err, &newer):
		return State{}, newer
	case err != nil:
		return State{}, err
	case st.Format > format:
		return State{}, newerState(run)
	}
	if st.Run != run {
		return State{}, fmt.Errorf("cannot read %q: it is the state of run %d: %w", statePath(run), st.Run, errDamaged)
	}
	if serr == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.decoded = &decodedState{st, before}
	}
	return st, nil
}

// remembered returns the last state that was read if its file is unchanged. States are shared and
// read-only.
func (s *States) remembered(run int) (State, bool) {
	s.mu.Lock()
	d := s.decoded
	s.mu.Unlock()
	if d == nil || d.state.Run != run {
		return State{}, false
	}
	now, err := s.fs.Lstat(statePath(run))
	if err != nil {
		return State{}, false
	}
	now.ATime = d.file.ATime
	return d.state, now == d.file
}
