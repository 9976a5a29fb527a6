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

// Sink is where records go. What it has acknowledged is durable. fleet.Log is one, File
// another.
type Sink interface {
	// Append writes records as one: all of them or none.
	Append(ctx context.Context, records [][]byte) (seq uint64, err error)
}

// Trail writes one chain of the audit log. Its methods may be called from any goroutine.
type Trail struct {
	sink Sink
	now  func() time.Time

	mu     sync.Mutex
	head   Head   // of all that was tried
	unsure []byte // the last record, if nobody knows whether it is written
}

// NewTrail goes on behind a head, which is Checker.Head of all that was written, with the
// name of the chain alone for a new one.
func NewTrail(sink Sink, behind Head, now func() time.Time) *Trail {
	return &Trail{sink: sink, head: behind, now: now}
}

// Append writes an entry. What is not written must not be done: write before you act. An
// entry whose write failed may be there or not, so it is written again before the next
// one, and only the last record of a chain is ever there twice.
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
	t.head, t.unsure = r.head(), raw
	return t.flush(ctx)
}

func (t *Trail) flush(ctx context.Context) error {
	if t.unsure == nil {
		return nil
	}
	if _, err := t.sink.Append(ctx, [][]byte{t.unsure}); err != nil {
		return fmt.Errorf("cannot write the audit log: %w", err)
	}
	t.unsure = nil
	return nil
}

// Head is how far the chain goes. It is to be told to other machines.
func (t *Trail) Head() Head {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.head
}

// File is a sink in a file, one record a line. One process writes it.
type File struct {
	FS   host.FS
	Path string

	mu   sync.Mutex
	size int64 // of what was acknowledged
	open bool
}

// Records reads all records; it takes away a last line that a crash cut off, which
// nobody was told is written.
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

// Append implements Sink; Records comes first.
func (f *File) Append(ctx context.Context, records [][]byte) (uint64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.open {
		return 0, errors.New("cannot write to an audit log that was not read")
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

// write puts text behind what was acknowledged, whatever else stands there.
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

// OpenTrail goes on with the chain of a file. A log that is not as it was written is told
// by a *Broken in the chain of the error: move the file away, keep it, and begin anew.
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
