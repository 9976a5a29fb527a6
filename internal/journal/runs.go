package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/host"
)

// Runs lists the runs that began, newest last. It reads the head and the tail
// of each journal, and all of an unfinished one. A damaged journal is listed as
// far as it can be read.
func (s *RunLog) Runs() ([]RunInfo, error) {
	runs, err := s.numbers("/journal", ".wal")
	if err != nil {
		return nil, err
	}
	out := make([]RunInfo, 0, len(runs))
	for _, run := range runs {
		info, began, err := s.info(run)
		if err != nil {
			return nil, err
		}
		if began {
			out = append(out, info)
		}
	}
	return out, nil
}

// Unfinished returns the newest run without Commit or Undone; ok is false if all have ended. A
// damaged journal with an unreadable end counts as unfinished, unless other evidence shows that the
// run has ended.
func (s *RunLog) Unfinished() (run int, ok bool, err error) {
	runs, err := s.numbers("/journal", ".wal")
	if err != nil {
		return 0, false, err
	}
	for _, run := range slices.Backward(runs) {
		if outcome, began, err := s.outcome(run); err != nil || (began && outcome == "") {
			return run, err == nil, err
		}
	}
	return 0, false, nil
}

// NextRun is the number for the next run: one more than any that was used.
func (s *RunLog) NextRun() (int, error) {
	last := 0
	for dir, suffix := range map[string]string{"/journal": ".wal", "/state": ".json"} {
		runs, err := s.numbers(dir, suffix)
		if err != nil {
			return 0, err
		}
		if n := len(runs); n > 0 {
			last = max(last, runs[n-1])
		}
	}
	if pointed, err := s.pointed(); err == nil {
		last = max(last, pointed)
	}
	return last + 1, nil
}

// outcome returns the outcome of a run; began is false if its journal has no readable Begin and no
// other evidence of it.
func (s *RunLog) outcome(run int) (o Outcome, began bool, err error) {
	info, began, err := s.info(run)
	return info.Outcome, began, err
}

// info describes a run by the first and last records of its journal, or if necessary by all of
// them.
func (s *RunLog) info(run int) (RunInfo, bool, error) {
	f, err := s.fs.Open(journalPath(run))
	if errors.Is(err, fs.ErrNotExist) {
		return RunInfo{}, false, nil
	}
	if err != nil {
		return RunInfo{}, false, fmt.Errorf("cannot read the journal of run %d: %w", run, err)
	}
	defer f.Close()
	first, last, ok := ends(run, f)
	if ok {
		return RunInfo{Header: *first.Header, Started: first.At}.ended(last), true, nil
	}
	return s.infoWhole(run)
}

// ends reads the first and the last record, as far as edge does; false unless the last
// one ends the run.
func ends(run int, f host.File) (first, last Record, ok bool) {
	first, ok = begins(run, f)
	st, err := f.Stat()
	if err != nil || !ok {
		return first, last, false
	}
	n := min(st.Size, window)
	tail, ok := readAt(f, st.Size-n, n)
	if !ok {
		return first, last, false
	}
	last, ok = lastFrame(tail)
	return first, last, ok && last.Kind.Ends()
}

func (s *RunLog) infoWhole(run int) (RunInfo, bool, error) {
	_, sc, err := s.scanRun(run)
	var corrupt *CorruptError
	if err != nil && !errors.As(err, &corrupt) {
		return RunInfo{}, false, err
	}
	info := RunInfo{Header: Header{Run: run}}
	if len(sc.records) == 0 && corrupt == nil {
		return info, false, nil
	}
	j := Journal{changed: map[addr.Addr]bool{}}
	for _, r := range sc.records {
		j.count(r)
	}
	info.Changed, info.Error = j.summary.Changed, j.summary.Error
	if len(sc.records) > 0 {
		info.Header, info.Started = *sc.records[0].Header, sc.records[0].At
	}
	if sc.last.Kind.Ends() {
		info = info.ended(sc.last)
	}
	if sc.proved {
		info = info.ended(Record{Kind: Commit, At: sc.last.At})
	}
	if corrupt != nil {
		info.Error, info.damaged = corrupt.Error(), true
	}
	return info, true, nil
}

// ended adds the data of the last record.
func (i RunInfo) ended(last Record) RunInfo {
	i.Ended, i.Outcome = last.At, last.Outcome
	if i.Outcome == "" { // an end without a reason is an end
		i.Outcome = Interrupted
	}
	if last.Summary != nil {
		i.Changed, i.Error = last.Summary.Changed, last.Summary.Error
	}
	return i
}
