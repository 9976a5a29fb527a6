package bus

import (
	"context"
	"fmt"
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// GatherConfig configures a Gather. The zero value is ready to use.
type GatherConfig struct {
	// Wait is the time to wait after the first append for more appends; 0 means 2 ms. Appends that
	// arrive during a commit form the next commit.
	Wait  time.Duration
	Bytes int           // of one commit; 0 and larger values mean MaxBatch
	Limit time.Duration // of one commit; 0 means 10 s
}

// Gather is a Log that joins concurrent appends to one commit, so that they share the cost of a
// flush. Each append returns when its records are durable.
type Gather struct {
	log    fleet.Log
	config GatherConfig

	mu      sync.Mutex
	waiting []*parcel
	bytes   int // of the waiting parcels
	busy    bool
	full    chan struct{} // closed when there is enough for a commit; nil if no goroutine waits for more
}

// parcel has the records of one Append.
type parcel struct {
	records [][]byte
	bytes   int
	seq     uint64
	err     error
	done    chan struct{}
}

var _ fleet.Log = (*Gather)(nil)

// NewGather returns a Gather that appends to l.
func NewGather(l fleet.Log, c GatherConfig) *Gather {
	c.Wait, c.Limit = orElse(c.Wait, 2*time.Millisecond), orElse(c.Limit, 10*time.Second)
	c.Bytes = min(orElse(c.Bytes, MaxBatch), MaxBatch)
	return &Gather{log: l, config: c}
}

// Follow implements fleet.Log.
func (g *Gather) Follow(ctx context.Context, from uint64, each func(seq uint64, records [][]byte) error) error {
	return g.log.Follow(ctx, from, each)
}

// Append implements fleet.Log. The caller must not change the records until they are durable. If
// ctx ends before, they may still become durable.
func (g *Gather) Append(ctx context.Context, records [][]byte) (uint64, error) {
	p := &parcel{records: records, done: make(chan struct{})}
	for _, r := range records {
		p.bytes += len(r) + maxLength
	}
	if p.bytes > MaxBatch {
		return 0, fmt.Errorf("cannot append %d bytes at once: the maximum is %d", p.bytes, MaxBatch)
	}
	g.enqueue(p)
	return p.wait(ctx)
}

// wait waits for the result. Earlier commits can delay it; with WithSilence, wait returns
// fleet.ErrNoAnswer after the remaining time.
func (p *parcel) wait(ctx context.Context) (uint64, error) {
	var late <-chan time.Time
	silence, began := silenceOf(ctx), time.Now()
	if silence != nil {
		late = time.After(silence.left())
	}
	select {
	case <-p.done:
		if unanswered(p.err) {
			silence.add(time.Since(began))
		}
		return p.seq, p.err
	case <-late:
		silence.add(time.Since(began))
		return 0, noAnswer{context.DeadlineExceeded}
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// maxLength is the maximum size of an encoded record length, in bytes.
const maxLength = 4

func (g *Gather) enqueue(p *parcel) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, p)
	g.bytes += p.bytes
	if g.full != nil && g.bytes >= g.config.Bytes {
		close(g.full)
		g.full = nil
	}
	if !g.busy {
		g.busy = true
		g.full = make(chan struct{})
		go g.run(g.full)
	}
}

// run commits as long as appends wait. Only the first commit waits for more appends: during a
// commit, others arrive.
func (g *Gather) run(full <-chan struct{}) {
	t := time.NewTimer(g.config.Wait)
	defer t.Stop()
	select {
	case <-t.C:
	case <-full:
	}
	for batch := g.next(); len(batch) > 0; batch = g.next() {
		g.commit(batch)
	}
}

// next removes the parcels of the next commit: at least one, if there is any.
func (g *Gather) next() []*parcel {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.full = nil
	n, bytes := 0, 0
	for n < len(g.waiting) && (n == 0 || bytes+g.waiting[n].bytes <= g.config.Bytes) {
		bytes += g.waiting[n].bytes
		n++
	}
	batch := g.waiting[:n:n]
	g.waiting = g.waiting[n:]
	g.bytes -= bytes
	g.busy = n > 0
	return batch
}

func (g *Gather) commit(batch []*parcel) {
	var all [][]byte
	for _, p := range batch {
		all = append(all, p.records...)
	}
	ctx, cancel := context.WithTimeout(context.Background(), g.config.Limit)
	defer cancel()
	seq, err := g.log.Append(ctx, all)
	for _, p := range batch {
		p.seq, p.err = seq, err
		close(p.done)
	}
	clear(batch) // the array is also the beginning of g.waiting, and would keep the records alive
}
