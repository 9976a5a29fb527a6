package journal

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/host"
)

// flushAt is how much is gathered before it is written without a sync, in bytes.
const flushAt = 1 << 20

// Journal is an open run. It is safe for concurrent use. Records appended before a Sync began are
// durable when it returns.
type Journal struct {
	s   *Store
	run int

	mu     sync.Mutex
	f      host.File
	buf    []byte // records not written yet
	size   int64  // of the file, without buf
	seq    uint64 // of the last record
	synced uint64 // the last durable record
	stated uint64 // the last value of synced in a record
	ended  bool
	dead   error // why no call can succeed any more

	summary Summary
	changed map[addr.Addr]bool
}

// UnfinishedError means that a run must be recovered before another run can begin.
type UnfinishedError struct{ Run int }

func (e *UnfinishedError) Error() string {
	return fmt.Sprintf("cannot begin: run %d is not finished; recover it first with: fettle apply", e.Run)
}

// Run is the number of the run.
func (j *Journal) Run() int { return j.run }

// Append adds records in order. It sets Seq, Synced, Summary and, where it is
// 0, At. The records are durable after the next Sync. Nothing can follow
// Commit or Undone. After an error the journal must be resumed.
func (j *Journal) Append(recs ...Record) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.dead != nil {
		return j.dead
	}
	now := j.s.opts.Now().UnixNano()
	for _, r := range recs {
		if r.At == 0 {
			r.At = now
		}
		if err := j.append(r); err != nil {
			return j.kill(err)
		}
	}
	if len(j.buf) > flushAt {
		return j.flush()
	}
	return nil
}

func (j *Journal) append(r Record) error {
	if j.ended {
		return errors.New("the run has ended")
	}
	j.count(r)
	kept := r.Summary
	r.Synced, r.Summary = 0, nil
	if j.synced > j.stated {
		r.Synced, j.stated = j.synced, j.synced
	}
	if r.Kind.Ends() {
		sum := j.summary
		if kept != nil {
			sum.Changed = kept.Changed
		}
		r.Summary, j.ended = &sum, true
	}
	b, n, err := appendFrame(j.buf, j.seq+1, &r)
	if err != nil {
		return err
	}
	if n > maxPayload {
		return fmt.Errorf("a record about %s has %d bytes, the limit is %d", r.Addr, n, maxPayload)
	}
	j.buf = b
	j.seq++
	return nil
}

// count gathers the summary.
func (j *Journal) count(r Record) {
	switch {
	case r.Error != "" && j.summary.Error == "" &&
		(r.Kind == Result || r.Kind == Fired || r.Kind == Checked || r.Kind.Ends()):
		j.summary.Error = r.Error
	case r.Back || r.Error != "" || (r.Kind != Move && r.Kind != Result):
	case !j.changed[r.Addr]:
		j.changed[r.Addr] = true
		j.summary.Changed++
	}
}

// Sync makes all appended records durable. After a failure, every later call fails: the kernel may
// mark pages as clean although it could not write them, so a second fsync could wrongly succeed. Only
// Resume writes them again.
func (j *Journal) Sync() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.dead != nil {
		return j.dead
	}
	if j.synced == j.seq {
		return nil
	}
	if err := j.flush(); err != nil {
		return err
	}
	if err := j.f.Sync(); err != nil {
		return j.kill(err)
	}
	j.synced = j.seq
	return nil
}

// flush writes the buffer. On a full disk it releases the ballast.
func (j *Journal) flush() error {
	if len(j.buf) == 0 {
		return nil
	}
	_, err := j.f.Write(j.buf)
	if host.IsNoSpace(err) && j.s.ReleaseBallast() == nil {
		if err = j.rewind(); err == nil {
			_, err = j.f.Write(j.buf)
		}
	}
	if err != nil {
		return j.kill(err)
	}
	j.size += int64(len(j.buf))
	j.buf = j.buf[:0]
	return nil
}

// rewind reverts a partial write.
func (j *Journal) rewind() error {
	if err := j.f.Truncate(j.size); err != nil {
		return err
	}
	_, err := j.f.Seek(j.size, io.SeekStart)
	return err
}

func (j *Journal) kill(err error) error {
	j.dead = fmt.Errorf("cannot write the journal of run %d: %w", j.run, err)
	return j.dead
}

// Close closes the file. Unsynced data can be lost.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if errors.Is(j.dead, errClosed) {
		return nil
	}
	j.dead = errClosed
	return j.f.Close()
}

var errClosed = errors.New("cannot write the journal: it is closed")
