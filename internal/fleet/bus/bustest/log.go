package bustest

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// Log is a fleet.Log in memory. Delay and Break simulate slow and failing appends.
type Log struct {
	mu     sync.Mutex
	list   [][][]byte // from seq 1
	more   chan struct{}
	broken error
	delay  time.Duration
	cut    uint64 // the records up to this seq are removed
}

var _ fleet.Log = (*Log)(nil)

// NewLog returns an empty log.
func NewLog() *Log { return &Log{more: make(chan struct{})} }

// Copy returns another log with the same content, like a backup.
func (l *Log) Copy() *Log {
	l.mu.Lock()
	defer l.mu.Unlock()
	return &Log{list: slices.Clone(l.list), more: make(chan struct{})}
}

// Records returns all appended records in order.
func (l *Log) Records() [][]byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out [][]byte
	for _, records := range l.list {
		out = append(out, cloned(records)...)
	}
	return out
}

// Cut removes all records, as retention does. The sequence numbers continue.
func (l *Log) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = uint64(len(l.list))
}

// Break makes each Append fail with err; nil ends this.
func (l *Log) Break(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken = err
}

// Delay makes each Append take this time.
func (l *Log) Delay(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delay = d
}

func cloned(records [][]byte) [][]byte {
	out := make([][]byte, len(records))
	for i, r := range records {
		out[i] = bytes.Clone(r)
	}
	return out
}

// Append implements fleet.Log.
func (l *Log) Append(ctx context.Context, records [][]byte) (uint64, error) {
	l.mu.Lock()
	d := l.delay
	l.mu.Unlock()
	if d > 0 {
		select {
		case <-time.After(d):
		case <-ctx.Done():
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil {
		return 0, l.broken
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	l.list = append(l.list, cloned(records))
	close(l.more)
	l.more = make(chan struct{})
	return uint64(len(l.list)), nil
}

// Follow implements fleet.Log.
func (l *Log) Follow(ctx context.Context, from uint64, each func(seq uint64, records [][]byte) error) error {
	for {
		l.mu.Lock()
		from = max(from, l.cut)
		next, more := l.list[min(from, uint64(len(l.list))):], l.more
		l.mu.Unlock()
		for _, records := range next {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			from++
			if err := each(from, cloned(records)); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-more:
		}
	}
}
