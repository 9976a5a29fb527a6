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

// Resume opens an unfinished run for appending and gives what it holds. A torn
// tail is cut off, durably, before it returns. A journal that is damaged in its
// middle gives its valid prefix, no Journal and a *CorruptError. The caller
// holds the lock and closes the Journal.
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
	f, err := s.fs.OpenWrite(journalPath(run))
	if err != nil {
		return nil, nil, fmt.Errorf("cannot resume run %d: %w", run, err)
	}
	if err := s.renew(f, b[:sc.good]); err != nil {
		_ = f.Close()
		return nil, nil, fmt.Errorf("cannot resume run %d: %w", run, err)
	}
	last := uint64(len(sc.records))
	j := &Journal{s: s, run: run, f: f, size: sc.good, seq: last, synced: last, changed: map[addr.Addr]bool{}}
	for _, r := range sc.records {
		j.count(r)
	}
	return j, sc.records, nil
}

// renew makes f durably hold good, which it begins with already. The bytes are
// written again because pages whose write-back failed once look clean, and a
// sync alone would not write them.
func (s *Store) renew(f host.File, good []byte) error {
	if err := f.Truncate(int64(len(good))); err != nil {
		return err
	}
	err := rewrite(f, good)
	if host.IsNoSpace(err) && s.ReleaseBallast() == nil {
		err = rewrite(f, good)
	}
	if err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return s.fs.SyncDir("/journal")
}

func rewrite(f host.File, b []byte) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := f.Write(b)
	return err
}

// Read gives the records of a run and changes nothing. A torn tail is normal
// and ends them. Damage in the middle gives what stands before it and a
// *CorruptError; a run without a journal is fs.ErrNotExist.
func (s *Store) Read(run int) ([]Record, error) {
	_, sc, err := s.scanRun(run)
	return sc.records, err
}

func (s *Store) scanRun(run int) ([]byte, scanned, error) {
	b, err := s.readAll(journalPath(run), maxJournal)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, scanned{}, fmt.Errorf("cannot read the journal of run %d: there is none; see the runs with: fettle log: %w", run, fs.ErrNotExist)
	}
	if err != nil {
		return nil, scanned{}, fmt.Errorf("cannot read the journal of run %d: %w", run, err)
	}
	sc, err := scan(run, b)
	return b, sc, err
}
