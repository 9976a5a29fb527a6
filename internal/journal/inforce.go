package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
)

// LostError means that a part of the state directory is lost or damaged and cannot be restored.
type LostError struct {
	What string // the lost data, and why it cannot be restored
	Err  error  // the cause, if there is one
}

func (e *LostError) Error() string {
	return e.What + "; restore the state directory from a backup, or move it away: fettle then adopts the host as it is, and cannot restore an earlier state"
}

func (e *LostError) Unwrap() error { return e.Err }

// inForce returns the run whose state is in force: the newest run that has ended, or 0. A run has
// ended if its journal, its state file or the pointer shows it. Each of them is sufficient to
// detect that another one is lost.
func (s *States) inForce(note func(string, ...any)) (int, error) {
	pointed, perr := s.pointed()
	if perr != nil && !errors.Is(perr, errDamaged) && !errors.Is(perr, fs.ErrNotExist) {
		return 0, perr
	}
	runs, err := s.usedRuns()
	if err != nil {
		return 0, err
	}
	if pointed > 0 && !slices.Contains(runs, pointed) {
		runs = append(runs, pointed)
		slices.Sort(runs)
	}
	began := false
	for _, run := range slices.Backward(runs) {
		yes, opened, err := s.isInForce(run, pointed, perr, note)
		if err != nil {
			return 0, err
		}
		if yes && perr != nil && s.pointerExpected(run) {
			note("The file \"current\" is lost or damaged; according to the journals, the state of run %d is applied.", run)
		}
		if yes {
			return run, nil
		}
		began = began || opened
	}
	if perr != nil && !began {
		return 0, s.firstUse(perr)
	}
	return 0, nil
}

// isInForce reports whether a run is in force, if no newer run is, and whether it began.
func (s *States) isInForce(run, pointed int, perr error, note func(string, ...any)) (yes, began bool, err error) {
	info, began, err := s.info(run)
	switch {
	case err != nil:
		return false, began, err
	case began && info.Outcome == "" && info.Header.Stated && perr != nil:
		return false, true, &LostError{fmt.Sprintf("cannot determine whether run %d has ended: its journal has no end, and the file \"current\" cannot be used", run), perr}
	case began && info.Outcome == "":
		return false, true, nil
	case began && info.damaged:
		note("The journal of run %d is damaged: the run has ended, but cannot be undone by itself.", run)
		return true, true, nil
	case began && !info.Header.Stated && run != pointed:
		yes, err = s.committed(run)
		return yes, true, err
	case began:
		return true, true, nil
	}
	stated, err := s.hasStateFile(run)
	if err != nil || !stated && run != pointed {
		return false, false, err
	}
	note("The journal of run %d is lost: the run cannot be undone by itself.", run)
	return true, true, nil
}

// pointerExpected reports whether the pointer of a run must exist. An older fettle wrote it last, so
// after its runs the pointer can be missing.
func (s *States) pointerExpected(run int) bool {
	info, _, err := s.info(run)
	return err == nil && info.Header.Stated
}

// firstUse is nil for a state directory that was never used, although its pointer is
// missing or damaged.
func (s *States) firstUse(pointer error) error {
	if errors.Is(pointer, errDamaged) {
		return &LostError{"the file \"current\" is damaged, and there is neither a journal nor a state", pointer}
	}
	used, err := s.holdsContent()
	if err != nil || !used {
		return err
	}
	return &LostError{"the state directory holds content of earlier runs, but their journals, their states and the file \"current\" are lost", nil}
}

func (s *States) hasStateFile(run int) (bool, error) {
	_, err := s.fs.Lstat(statePath(run))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// committed reports whether a run ended with Commit. An unreadable journal is an error.
func (s *RunLog) committed(run int) (bool, error) {
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
