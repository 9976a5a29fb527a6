package bus

import (
	"context"
	"fmt"
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// GatherConfig says how much is gathered. The zero value is good.
type GatherConfig struct {
	Wait  time.Duration // for others, from the first; 0 is 2 ms, and what comes while one is written goes with the next
	Bytes int           // of one commit; 0, and more, is MaxBatch
	Limit time.Duration // of one commit; 0 is 10 s
}

// Gather is a Log that makes one of what many append at the same time, so that they
// share the cost of a flush. Each has its answer when its records are durable.
type Gather struct {
	log    fleet.Log
	config GatherConfig

	mu      sync.Mutex
	waiting []*parcel
	bytes   int // of those that wait
	busy    bool
	full    chan struct{} // closed when there is enough for a commit, nil while nobody waits for more
}

// parcel is what one Append brought.
type parcel struct {
	records [][]byte
	bytes   int
	seq     uint64
	err     error
	done    chan struct{}
}

var _ fleet.Log = (*Gather)(nil)

// NewGather gathers what is appended to a log.
func NewGather(l fleet.Log, c GatherConfig) *Gather {
	c.Wait, c.Limit = orElse(c.Wait, 2*time.Millisecond), orElse(c.Limit, 10*time.Second)
	c.Bytes = min(orElse(c.Bytes, MaxBatch), MaxBatch)
	return &Gather{log: l, config: c}
}

// Follow implements fleet.Log.
func (g *Gather) Follow(ctx context.Context, from uint64, each func(seq uint64, records [][]byte) error) error {
	return g.log.Follow(ctx, from, each)
}

// Append implements fleet.Log. The records may not be changed until they are durable;
// when ctx ends before, they may become so all the same.
func (g *Gather) Append(ctx context.Context, records [][]byte) (uint64, error) {
	p := &parcel{records: records, done: make(chan struct{})}
	for _, r := range records {
		p.bytes += len(r) + maxLength
	}
	if p.bytes > MaxBatch {
		return 0, fmt.Errorf("cannot append %d bytes at once: %d are the most", p.bytes, MaxBatch)
	}
	g.enqueue(p)
	return p.wait(ctx)
}

// wait waits for the answer. Others may be first, so a caller with WithSilence does not wait longer
// than that.
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

// maxLength is what the length of a record takes at most.
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

// run commits as long as there is something. Only the first waits: while it is written
// others come.
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

// next takes what goes into one commit: at least one parcel, when there is any.
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
	clear(batch) // it is the beginning of what waits, which would keep the records until it grows
}
