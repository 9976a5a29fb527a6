package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/host"
)

// maxJournal is the most that is read of one journal, in bytes.
const maxJournal = 1 << 30

// Resume opens an unfinished run for appending and returns its records. It durably cuts off a torn
// tail before it returns. For a journal that is damaged in its middle, it returns the valid prefix,
// no Journal and a *CorruptError. The caller must hold the lock and close the Journal.
func (s *Store) Resume(run int) (*Journal, []Record, error) {
	b, sc, err := s.scanRun(run)
	switch {
	case err != nil:
		return nil, sc.records, err
	case len(sc.records) == 0:
		return nil, nil, fmt.Errorf("cannot resume run %d: it never began: %w", run, fs.ErrNotExist)
	case sc.last.Kind.Ends():
		return nil, sc.records, fmt.Errorf("cannot resume run %d: it has ended", run)
	}
	f, err := s.renew(run, b[:sc.good])
	if err != nil {
		return nil, nil, fmt.Errorf("cannot resume run %d: %w", run, err)
	}
	last := uint64(len(sc.records))
	j := &Journal{s: s, run: run, f: f, size: sc.good, seq: last, synced: last, changed: map[addr.Addr]bool{}}
	for _, r := range sc.records {
		j.count(r)
	}
	return j, sc.records, nil
}

// renew durably replaces the journal of a run with good, its valid beginning, and opens it at its
// end. It writes a new file. Pages whose write-back failed once seem to be clean, so syncing them
// again would prove nothing. Overwriting them would risk durable data.
func (s *Store) renew(run int, good []byte) (host.File, error) {
	if err := s.replace(journalPath(run), good); err != nil {
		return nil, err
	}
	f, err := s.fs.OpenWrite(journalPath(run))
	if err != nil {
		return nil, err
	}
	if _, err := f.Seek(int64(len(good)), io.SeekStart); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Read returns the records of a run and changes nothing. A torn tail is normal and ends the
// records. If the middle is damaged, Read returns the records before the damage and a
// *CorruptError. For a run without a journal the error is fs.ErrNotExist.
func (s *Store) Read(run int) ([]Record, error) {
	_, sc, err := s.scanRun(run)
	return sc.records, err
}

func (s *Store) scanRun(run int) ([]byte, scanned, error) {
	p, err := s.proofOf(run)
	if err != nil {
		return nil, scanned{}, err
	}
	b, err := s.readAll(journalPath(run), maxJournal)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, scanned{}, fmt.Errorf("cannot read the journal of run %d: there is none; see the runs with: fettle log: %w", run, fs.ErrNotExist)
	}
	if err != nil {
		return nil, scanned{}, fmt.Errorf("cannot read the journal of run %d: %w", run, err)
	}
	sc, err := scan(run, b)
	var corrupt *CorruptError
	if (err == nil || errors.As(err, &corrupt)) && !sc.last.Kind.Ends() && p.ended(sc.records) {
		sc.proved = true
		err = &CorruptError{Run: run, Offset: sc.good, Reason: "the run has ended, and the end is missing"}
	}
	return b, sc, err
}
