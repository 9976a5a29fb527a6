package journal

import (
	"fmt"
	"slices"

	"fettle.dev/fettle/internal/host"
)

// current is the content of the pointer file.
type current struct {
	Run int `json:"run"`
}

func statePath(run int) string { return fmt.Sprintf("/state/%06d.json", run) }

// SaveState durably stores the applied state after st.Run and makes it the current state. Storing
// it again changes nothing.
func (s *Store) SaveState(st State) error {
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
func (s *Store) readState(run int) (State, error) {
	if st, ok := s.remembered(run); ok {
		return st, nil
	}
	before, serr := s.fs.Lstat(statePath(run))
	var st State
	if err := s.loadSealed(statePath(run), &st); err != nil {
		return State{}, err
	}
	if st.Format > format {
		return State{}, &NewerFormatError{What: fmt.Sprintf("the state of run %d", run)}
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

// decodedState is the last state that was read, with the status of its file then. State files are
// replaced, never modified, so the same inode with the same times has the same state.
type decodedState struct {
	state State
	file  host.Stat
}

// remembered returns the last state that was read if its file is unchanged. States are shared and
// read-only.
func (s *Store) remembered(run int) (State, bool) {
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

// State returns the applied state; its Run is 0 if nothing was ever applied. The journals determine
// that run: the newest run that has ended. Lost or damaged state files and pointers are restored
// from the journal and reported by Notes. If that is not possible, the error is a *LostError. An
// older state never replaces a lost one.
func (s *Store) State() (State, error) {
	var notes []string
	st, err := s.state(noteTo(&notes))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = notes
	return st, err
}

// Notes returns messages for users about the last call of State.
func (s *Store) Notes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.notes)
}

func noteTo(notes *[]string) func(string, ...any) {
	return func(format string, args ...any) { *notes = append(*notes, fmt.Sprintf(format, args...)) }
}

func (s *Store) state(note func(string, ...any)) (State, error) {
	run, err := s.inForce(note)
	if err != nil || run == 0 {
		return State{Format: format}, err
	}
	return s.stateOr(run, note)
}

// StateMark identifies the state in force without reading it: the run, and the status of its state
// file. If State succeeded under one of two equal marks, both belong to the same state. The run is
// 0 if nothing was ever applied. Lost or damaged data is an error.
func (s *Store) StateMark() (run int, file host.Stat, err error) {
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

// usedRuns lists every run that has a journal or a state, ascending.
func (s *Store) usedRuns() ([]int, error) {
	a, err := s.numbers("/journal", ".wal")
	if err != nil {
		return nil, err
	}
	b, err := s.numbers("/state", ".json")
	if err != nil {
		return nil, err
	}
	a = append(a, b...)
	slices.Sort(a)
	return slices.Compact(a), nil
}

// pointed is the run that the pointer names. Every state directory has a pointer, so
// its loss is an error, with fs.ErrNotExist in the chain.
func (s *Store) pointed() (int, error) {
	var c current
	err := s.loadSealed("/current", &c)
	return c.Run, err
}
