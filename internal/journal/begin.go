package journal

import (
	"fmt"
	"io/fs"

	"fettle.dev/fettle/internal/addr"
)

// Begin opens the journal of a new run: h.Run is the result of NextRun. When it returns, the Begin
// record is durable. It returns an *UnfinishedError while another run is open. The caller must hold
// the lock and close the Journal.
func (s *Store) Begin(h Header) (*Journal, error) {
	if h.Run < 1 {
		return nil, fmt.Errorf("cannot begin run %d: runs count from 1; take the number from NextRun", h.Run)
	}
	if h.Format == 0 {
		h.Format = format
	}
	if run, open, err := s.Unfinished(); err != nil {
		return nil, err
	} else if open {
		return nil, &UnfinishedError{Run: run}
	}
	if err := s.repairStateLate(); err != nil {
		return nil, fmt.Errorf("cannot begin run %d: %w", h.Run, err)
	}
	h.Stated = true
	f, err := s.fs.Create(journalPath(h.Run))
	if err != nil {
		return nil, fmt.Errorf("cannot begin run %d: %w", h.Run, err)
	}
	j := &Journal{s: s, run: h.Run, f: f, buf: []byte(magic), changed: map[addr.Addr]bool{}}
	err = j.Append(Record{Kind: Begin, Header: &h})
	if err == nil {
		err = j.Sync()
	}
	if err == nil {
		err = s.fs.SyncDir("/journal")
	}
	if err != nil {
		_ = f.Close()
		_ = s.fs.Remove(journalPath(h.Run))
		return nil, fmt.Errorf("cannot begin run %d: %w", h.Run, err)
	}
	return j, nil
}

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
