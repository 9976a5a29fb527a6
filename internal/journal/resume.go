package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"fettle.dev/fettle/internal/host"
)

// maxJournal is the most that is read of one journal, in bytes.
const maxJournal = 1 << 30

// renew durably replaces the journal of a run with good, its valid beginning, and opens it at its
// end. It writes a new file. Pages whose write-back failed once seem to be clean, so syncing them
// again would prove nothing. Overwriting them would risk durable data.
func (s *RunLog) renew(run int, good []byte) (host.File, error) {
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
func (s *RunLog) Read(run int) ([]Record, error) {
	_, sc, err := s.scanRun(run)
	return sc.records, err
}

func (s *RunLog) scanRun(run int) ([]byte, scanned, error) {
	p, err := s.proofOf(run)
	if err != nil {
		return nil, scanned{}, err
	}
	b, err := s.readAll(journalPath(run), maxJournal)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, scanned{},
			fmt.Errorf("cannot read the journal of run %d: there is none; see the runs with: fettle log: %w", run,
				fs.ErrNotExist)
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
