package journal_test

import (
	"errors"
	"syscall"
	"testing"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/fault"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/journal"
)

// TestHalfAWriteIsWrittenAgain: on a full disk only half of a write succeeds. With the space of the
// ballast it is repeated at the same place, not after the half. If that also fails, the error is
// returned and durable data remains.
func TestHalfAWriteIsWrittenAgain(t *testing.T) {
	again := 0
	for _, worse := range []string{"", host.OpTruncate, host.OpRemove} {
		for n := 1; ; n++ {
			fsys := mem.New(mem.Options{})
			check(t, must(journal.OpenWith(fsys, journal.Options{Now: fixedNow, Ballast: 4096}))(t).EnsureBallast())
			half := &fault.Plan{At: n, Only: host.OpWrite, Err: syscall.ENOSPC, Short: true}
			more := &fault.Plan{Only: worse, Err: syscall.EIO}
			if worse != "" {
				more.At = 1
			}
			s, err := journal.OpenWith(fault.Wrap(fault.Wrap(fsys, half), more), journal.Options{Now: fixedNow, Ballast: 4096})
			check(t, err)
			err = writeRun(s)
			recs, rerr := open(t, fsys).Read(1)
			switch {
			case err == nil && (rerr != nil || len(recs) != 8):
				t.Errorf("write %d comes half through (%q fails too): %d records, %v", n, worse, len(recs), rerr)
			case err == nil && half.Hit():
				again++
			case err != nil && !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EIO):
				t.Errorf("write %d: %v", n, err)
			case err != nil && rerr == nil && len(recs) > 7:
				t.Errorf("write %d: %v, and all is there", n, err)
			}
			if !half.Hit() {
				break
			}
		}
	}
	if again == 0 {
		t.Error("nothing was written again")
	}
}

// writeRun writes a run of eight records, durable in three parts.
func writeRun(s *journal.Store) error {
	j, err := s.Begin(header(1, 0))
	if err != nil {
		return err
	}
	for part := range 3 {
		err = errors.Join(err, j.Append(move(2*part), move(2*part+1)), j.Sync())
	}
	err = errors.Join(err, j.Append(journal.Record{Kind: journal.Commit, Outcome: journal.Succeeded}), j.Sync())
	return errors.Join(err, j.Close())
}
