package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// keepRuns is the default number of retained runs.
const keepRuns = 50

// Collect removes runs that no part of keep retains, and objects that are no longer referenced. It
// never removes:
//
//   - an unfinished run, or the run of the current state
//   - the state from which a retained run started
//   - objects that any of these refer to
//   - objects put since the Store was opened
//
// If it cannot read a file that can contain references, it removes nothing. It can be killed at any
// time: a run is removed before its objects. The caller must hold the lock.
func (s *Store) Collect(keep Retention) (Collected, error) {
	c, err := s.choose(keep)
	if err != nil {
		return Collected{}, fmt.Errorf("cannot collect; nothing was removed: %w", err)
	}
	if !keep.DryRun {
		if err := s.remove(c); err != nil {
			return Collected{}, fmt.Errorf("cannot collect everything: %w", err)
		}
	}
	return Collected{Runs: c.runs, Objects: len(c.objects) + len(c.packed), Bytes: c.bytes}, nil
}

func (s *Store) choose(keep Retention) (doomed, error) {
	var d doomed
	journals, states, err := s.keptRuns(keep)
	if err != nil {
		return d, err
	}
	all, err := s.numbers("/journal", ".wal")
	if err != nil {
		return d, err
	}
	for _, run := range all {
		if !journals[run] {
			d.journals = append(d.journals, run)
			d.runs = append(d.runs, run)
		}
	}
	if all, err = s.numbers("/state", ".json"); err != nil {
		return d, err
	}
	for _, run := range all {
		if !states[run] {
			d.states = append(d.states, run)
		}
	}
	live, err := s.live(journals, states)
	if err != nil {
		return d, err
	}
	if err := s.chooseObjects(&d, live); err != nil {
		return d, err
	}
	return d, s.choosePacks(&d, live)
}

// keptRuns returns the journals and the states that remain. The last run always remains, because
// the next number depends on it.
func (s *Store) keptRuns(keep Retention) (journals, states map[int]bool, err error) {
	infos, err := s.Runs()
	if err != nil {
		return nil, nil, err
	}
	st, err := s.State()
	if err != nil {
		return nil, nil, err
	}
	armed, err := s.ArmedRun()
	if err != nil {
		return nil, nil, err
	}
	n := keep.Runs
	if n <= 0 {
		n = keepRuns
	}
	since := s.opts.Now().Add(-keep.Within).UnixNano()
	journals, states = map[int]bool{st.Run: true}, map[int]bool{st.Run: true}
	for i, info := range infos {
		run := info.Header.Run
		young := keep.Within > 0 && max(info.Started, info.Ended) > since
		if i >= len(infos)-n || young || info.Outcome == "" || run == st.Run || (armed != nil && armed.Run == run) {
			journals[run], states[run], states[info.Header.Base] = true, true, true
			if info.Header.To > 0 && info.Outcome == "" {
				states[info.Header.To] = true
			}
		}
	}
	if err := s.keepForStates(journals, states); err != nil {
		return nil, nil, err
	}
	return journals, states, s.keepLast(journals)
}

// keepForStates keeps the journals of states that cannot be used, because they can be created again from them.
func (s *Store) keepForStates(journals, states map[int]bool) error {
	for run := range states {
		_, err := s.readState(run)
		var unknown *StepError
		switch {
		case err == nil:
		case errors.Is(err, errDamaged) || errors.Is(err, fs.ErrNotExist) || errors.As(err, &unknown):
			journals[run] = true
		default:
			return fmt.Errorf("cannot determine whether the journal of run %d is still needed: %w", run, err)
		}
	}
	return nil
}

// keepLast keeps the newest journal file even when its run never began.
func (s *Store) keepLast(journals map[int]bool) error {
	all, err := s.numbers("/journal", ".wal")
	if n := len(all); n > 0 {
		journals[all[n-1]] = true
	}
	return err
}

// chooseObjects lists the objects in the store that are not live.
func (s *Objects) chooseObjects(d *doomed, live map[string]bool) error {
	dirs, err := s.fs.ReadDir("/objects")
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		if strings.HasPrefix(dir, "tmp-") {
			d.temps = append(d.temps, "/objects/"+dir)
			continue
		}
		names, err := s.fs.ReadDir("/objects/" + dir)
		if err != nil {
			return err
		}
		for _, name := range names {
			digest := "sha256:" + dir + name
			p, ok := objectPath(digest)
			if !ok || live[digest] {
				continue
			}
			st, err := s.fs.Lstat(p)
			if err != nil {
				return err
			}
			d.objects = append(d.objects, digest)
			d.bytes += st.Size
		}
	}
	return nil
}

// remove keeps the order that makes it safe: no journal without its state, no
// state without its objects.
func (s *Store) remove(d doomed) error {
	if err := s.removeFiles("/journal", d.journals, journalPath); err != nil {
		return err
	}
	if err := s.removeFiles("/state", d.states, statePath); err != nil {
		return err
	}
	if err := s.removePacks(d); err != nil {
		return err
	}
	for _, p := range d.temps {
		if err := s.removeOne(p); err != nil {
			return err
		}
	}
	for _, digest := range d.objects {
		s.forget(digest)
		p, _ := objectPath(digest)
		if err := s.removeOne(p); err != nil {
			return err
		}
	}
	return nil
}

func (s *Objects) removeFiles(dir string, runs []int, path func(int) string) error {
	for _, run := range runs {
		if err := s.removeOne(path(run)); err != nil {
			return err
		}
	}
	if len(runs) == 0 {
		return nil
	}
	return s.fs.SyncDir(dir)
}

func (s *Objects) forget(digest string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, digest)
	delete(s.pending, digest)
}
