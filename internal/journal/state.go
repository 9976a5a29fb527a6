package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"fettle.dev/fettle/internal/host"
)

// current is the content of the pointer file.
type current struct {
	Run int `json:"run"`
}

func statePath(run int) string { return fmt.Sprintf("/state/%06d.json", run) }

// SaveState keeps what is applied after st.Run, durably, and makes it the
// current state. Saving the same again changes nothing.
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

// StateAt is the state that a run left; the one of run 0 is empty. It is
// fs.ErrNotExist for a run whose state was never saved or was collected.
func (s *Store) StateAt(run int) (State, error) {
	if run == 0 {
		return State{Format: format}, nil
	}
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

// decodedState is the state that was read last, with what lstat told of its
// file then. Files of states are replaced, never written in place, so the same
// inode with the same times is the same state.
type decodedState struct {
	state State
	file  host.Stat
}

// remembered gives the state that was read last, if its file is still the same.
// States are shared: nobody changes one that was read.
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

// State is what is applied now; its Run is 0 when nothing ever was. The
// journals decide: a state counts when its run has ended. Where the pointer is
// lost, late or damaged, it is the newest state that reads well and whose run
// has Commit. Notes says when that leaves something to tell.
func (s *Store) State() (State, error) {
	var notes []string
	st, err := s.state(func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = notes
	return st, err
}

// Notes is what a person should know of the last call of State.
func (s *Store) Notes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.notes)
}

func (s *Store) state(note func(string, ...any)) (st State, err error) {
	found := false
	err = s.candidates(note, func(run, pointed int) (bool, error) {
		var newer *NewerFormatError
		switch st, err = s.StateAt(run); {
		case err == nil:
			found = true
			return true, nil
		case errors.As(err, &newer), !errors.Is(err, errDamaged) && !errors.Is(err, fs.ErrNotExist):
			return true, err // what cannot be read now may be sound
		case errors.Is(err, fs.ErrNotExist) && run != pointed:
			note("Run %d ended, but its state was not saved.", run)
		default:
			note("The state of run %d cannot be used (%v); an older one is in force.", run, err)
		}
		return false, nil
	})
	if err != nil || !found {
		return State{Format: format}, err
	}
	return st, nil
}

// candidates calls try with the runs whose state can be in force, newest first,
// until it says that one is.
func (s *Store) candidates(note func(string, ...any), try func(run, pointed int) (bool, error)) error {
	runs, err := s.stateRuns()
	if err != nil {
		return err
	}
	pointed, err := s.pointed()
	if err != nil && !errors.Is(err, errDamaged) {
		return err
	}
	if err != nil {
		note("The pointer to the current state is damaged; the journals tell which it is.")
	}
	for _, run := range slices.Backward(runs) {
		outcome, began, err := s.outcome(run)
		if err != nil {
			return err
		}
		if began && outcome == "" {
			continue
		}
		if began && run != pointed {
			if yes, err := s.committed(run); err != nil {
				return err
			} else if !yes {
				continue
			}
		}
		if !began && run != pointed {
			continue // a state whose journal was collected
		}
		if done, err := try(run, pointed); err != nil || done {
			return err
		}
	}
	return nil
}

// StateMark tells which state is in force without reading it: the newest run
// that can be, and what lstat tells of the file of its state. Two equal marks
// are of one state, if State could read it under one of them. The run is 0 when
// nothing was ever applied.
func (s *Store) StateMark() (run int, file host.Stat, err error) {
	err = s.candidates(func(string, ...any) {}, func(r, _ int) (bool, error) {
		run = r
		file, err = s.fs.Lstat(statePath(r))
		file.ATime = 0
		return true, err
	})
	return run, file, err
}

// stateRuns lists every run that has a journal or a state, ascending.
func (s *Store) stateRuns() ([]int, error) {
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

// pointed is the run that the pointer names; 0 when there is none.
func (s *Store) pointed() (int, error) {
	var c current
	_, err := s.loadSetting("/current", &c)
	return c.Run, err
}

// committed tells whether a run that has ended did so with Commit. A journal
// that cannot be read now tells neither.
func (s *Store) committed(run int) (bool, error) {
	f, err := s.fs.Open(journalPath(run))
	if err != nil {
		return false, fmt.Errorf("cannot read the journal of run %d: %w", run, err)
	}
	defer f.Close()
	if _, last, ok := ends(run, f); ok {
		return last.Kind == Commit, nil
	}
	_, sc, err := s.scanRun(run)
	var corrupt *CorruptError
	if err != nil && !errors.As(err, &corrupt) {
		return false, err
	}
	return sc.last.Kind == Commit, nil
}
