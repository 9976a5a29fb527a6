package access

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"time"

	"fettle.dev/fettle/internal/host"
)

// Sink stores records. Acknowledged records are durable. fleet.Log and File implement it.
type Sink interface {
	// Append writes all records or none.
	Append(ctx context.Context, records [][]byte) (seq uint64, err error)
}

// Trail writes one chain of the audit log. Its methods are safe for concurrent use.
type Trail struct {
	sink Sink
	now  func() time.Time

	mu             sync.Mutex
	head           Head   // after all attempted writes
	unacknowledged []byte // the last record, if its write failed with an unknown result
}

// NewTrail continues a chain after a head from Checker.Head. For a new chain, the head contains
// only the name.
func NewTrail(sink Sink, behind Head, now func() time.Time) *Trail {
	return &Trail{sink: sink, head: behind, now: now}
}

// Append writes an entry. Call it before the operation, and do not perform the operation if it
// fails. A failed write may have stored the record, so the record is written again before the next
// one. Only the last record of a chain can be duplicated.
func (t *Trail) Append(ctx context.Context, e Entry) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.flush(ctx); err != nil {
		return err
	}
	r := e.after(t.head, t.now().UnixNano())
	raw := r.marshal()
	if len(raw) > maxRecord {
		return fmt.Errorf("cannot write %d bytes as one record of the audit log: %d are the most", len(raw), maxRecord)
	}
	t.head, t.unacknowledged = r.head(), raw
	return t.flush(ctx)
}

func (t *Trail) flush(ctx context.Context) error {
	if t.unacknowledged == nil {
		return nil
	}
	if _, err := t.sink.Append(ctx, [][]byte{t.unacknowledged}); err != nil {
		return fmt.Errorf("cannot write the audit log: %w", err)
	}
	t.unacknowledged = nil
	return nil
}

// Head returns the end of the chain. Store it on other hosts.
func (t *Trail) Head() Head {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.head
}

// File is a Sink in a file with one record per line. Only one process may write it.
type File struct {
	FS   host.FS
	Path string

	mu   sync.Mutex
	size int64 // of acknowledged records
	open bool
}

// Records reads all records. It ignores an incomplete last line after a crash, which was never
// acknowledged.
func (f *File) Records() ([][]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	file, err := f.FS.Open(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		f.size, f.open = 0, true
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot open the audit log %s: %w", f.Path, err)
	}
	defer file.Close()
	b, err := io.ReadAll(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read the audit log %s: %w", f.Path, err)
	}
	whole := b[:bytes.LastIndexByte(b, '\n')+1]
	f.size, f.open = int64(len(whole)), true
	var out [][]byte
	for line := range bytes.Lines(whole) {
		out = append(out, bytes.TrimSuffix(line, []byte("\n")))
	}
	return out, nil
}

// Append implements Sink. Call Records before.
func (f *File) Append(ctx context.Context, records [][]byte) (uint64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.open {
		return 0, errors.New("cannot write to the audit log: it was not read before")
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	var text []byte
	for _, r := range records {
		text = append(append(text, r...), '\n')
	}
	if err := f.write(text); err != nil {
		return 0, fmt.Errorf("cannot write %s: %w", f.Path, err)
	}
	f.size += int64(len(text))
	return uint64(f.size), nil
}

// write writes text after the acknowledged records, and overwrites anything behind them.
func (f *File) write(text []byte) error {
	file, err := f.FS.OpenAppend(f.Path)
	if err != nil {
		return err
	}
	err = file.Truncate(f.size)
	if err == nil {
		_, err = file.Write(text)
	}
	if err == nil {
		err = file.Sync()
	}
	if err == nil && f.size == 0 {
		dir, _ := host.SplitPath(f.Path)
		err = f.FS.SyncDir(dir)
	}
	return errors.Join(err, file.Close())
}

// OpenTrail continues the chain in a file. If the log was changed, the error wraps a *Broken: move
// the file away, store it for an investigation, and start a new log.
func OpenTrail(f *File, chain string, now func() time.Time) (*Trail, error) {
	records, err := f.Records()
	if err != nil {
		return nil, err
	}
	var c Checker
	for _, r := range records {
		if err := c.Next(r); err != nil {
			return nil, fmt.Errorf("cannot continue with the audit log %s: %w", f.Path, err)
		}
	}
	return NewTrail(f, c.Head(chain), now), nil
}
