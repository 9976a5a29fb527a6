package journal

import (
	"fmt"
	"slices"

	"fettle.dev/fettle/internal/host"
)

// State returns the applied state; its Run is 0 if nothing was ever applied. The journals determine
// that run: the newest run that has ended. Lost or damaged state files and pointers are restored
// from the journal and reported by Notes. If that is not possible, the error is a *LostError. An
// older state never replaces a lost one.
func (s *States) State() (State, error) {
	var notes []string
	st, err := s.state(noteTo(&notes))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = notes
	return st, err
}

// Notes returns messages for users about the last call of State.
func (s *States) Notes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.notes)
}

func noteTo(notes *[]string) func(string, ...any) {
	return func(format string, args ...any) { *notes = append(*notes, fmt.Sprintf(format, args...)) }
}

func (s *States) state(note func(string, ...any)) (State, error) {
	run, err := s.inForce(note)
	if err != nil || run == 0 {
		return State{Format: format}, err
	}
	return s.stateOr(run, note)
}

// StateMark identifies the state in force without reading it: the run, and the status of its state
// file. If State succeeded under one of two equal marks, both belong to the same state. The run is
// 0 if nothing was ever applied. Lost or damaged data is an error.
func (s *States) StateMark() (run int, file host.Stat, err error) {
	var notes []string
	if run, err = s.inForce(noteTo(&notes)); err != nil || run == 0 {
		return run, file, err
	}
	if len(notes) > 0 {
		return run, file, errDamaged
	}
	file, err = s.fs.Lstat(statePath(run))
	file.ATime = 0
	return run, file, err
}
