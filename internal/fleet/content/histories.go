package content

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"fettle.dev/fettle/internal/repo"
)

// Histories delivers histories of commits to agents that require them. It reads one history at a
// time, from a second repository beside the mirror, so that assignments do not wait. The repository
// is created at the first request. The fields must be set before Run; then it is safe for
// concurrent use.
type Histories struct {
	Dir    string // of the mirrors
	Source func() Source
	Client HistoryClient
	Now    func() time.Time
	Warn   func(text string)
	// Wait is the time after which a request is answered with "not ready yet"; 0 is 20 s. The work
	// continues.
	Wait time.Duration
	// Read reads a history; nil is ReadFrom, which uses git.
	Read func(ctx context.Context, dir string, src Source, commit string, accepted []string) ([]byte, error)

	mu      sync.Mutex
	all     []*delivery // in the order of their requests
	queue   chan *delivery
	clients map[string]int
}

// delivery is a requested history. done is closed when text and err are set.
type delivery struct {
	key, commit string
	accepted    []string
	done        chan struct{}
	text        []byte
	err         error
	at          time.Time // when it was done
}

// Limits of requested histories. maxDelivered is in bytes.
const (
	maxDeliveries    = 64
	maxDelivered     = 2 * MaxHistory
	historyFailedFor = 30 * time.Second // time until a failed history is tried again
)

// Run reads requested histories until ctx ends.
func (h *Histories) Run(ctx context.Context) error {
	queue := h.queued()
	for {
		select {
		case <-ctx.Done():
			return nil
		case d := <-queue:
			h.deliver(ctx, d)
		}
	}
}

func (h *Histories) queued() chan *delivery {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.queueLocked()
}

func (h *Histories) queueLocked() chan *delivery {
	if h.queue == nil {
		h.queue = make(chan *delivery, maxDeliveries)
	}
	return h.queue
}

func (h *Histories) deliver(ctx context.Context, d *delivery) {
	read := h.Read
	if read == nil {
		read = ReadFrom
	}
	text, err := read(ctx, h.Dir, h.Source(), d.commit, d.accepted)
	if err != nil && ctx.Err() == nil && !final(err) {
		h.Warn(err.Error())
	}
	h.mu.Lock()
	d.text, d.err, d.at = text, err, h.Now()
	h.mu.Unlock()
	close(d.done)
}

// final returns true if another attempt would fail as well.
func final(err error) bool {
	return errors.Is(err, repo.ErrLongHistory) || errors.Is(err, errLargeHistory) || errors.Is(err, repo.ErrNoCommit)
}

// request returns the delivery of a history, or nil if too many are requested.
func (h *Histories) request(commit string, accepted []string) *delivery {
	key := commit + " " + strings.Join(accepted, " ")
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tidy()
	for _, d := range h.all {
		if d.key == key {
			return d
		}
	}
	d := &delivery{key: key, commit: commit, accepted: accepted, done: make(chan struct{})}
	select {
	case h.queueLocked() <- d:
		h.all = append(h.all, d)
		return d
	default:
		return nil
	}
}

// tidy removes failures after some time, and the oldest deliveries above the limits. It must be
// called with h.mu held.
func (h *Histories) tidy() {
	size, count := 0, 0
	for _, d := range slices.Backward(h.all) {
		size, count = size+len(d.text), count+1
		old := d.err != nil && h.Now().Sub(d.at) > historyFailedFor
		if !d.at.IsZero() && (old || size > maxDelivered || count >= maxDeliveries) {
			d.key = "" // marks it for removal
		}
	}
	h.all = slices.DeleteFunc(h.all, func(d *delivery) bool { return d.key == "" })
}

var errLargeHistory = errors.New("the history is too large")

// ReadFrom reads a history with git, below a directory of mirrors. It fetches missing commits.
func ReadFrom(ctx context.Context, dir string, src Source, commit string, accepted []string) ([]byte, error) {
	remote, err := repo.OpenRemote(src.URL)
	if err == nil {
		remote, err = remote.With(src.Access)
	}
	if err != nil {
		return nil, err
	}
	h, err := repo.OpenHistory(ctx, path.Join(dir, src.Name+".history.git"), remote, src.Limits)
	if err == nil {
		err = h.Fetch(ctx, commit)
	}
	if err != nil {
		return nil, err
	}
	for _, id := range accepted {
		// After a rewrite of the branch, the mirror and the server may not have it.
		if err := h.Fetch(ctx, id); err != nil && ctx.Err() != nil {
			return nil, err
		}
	}
	return historyOf(ctx, h, commit, accepted)
}

func historyOf(ctx context.Context, h *repo.History, commit string, accepted []string) ([]byte, error) {
	ids, err := h.Since(ctx, commit, accepted, MaxHistoryCommits)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := NewHistoryWriter(&b)
	err = h.Read(ctx, ids, func(raw []byte) error {
		if err := w.Add(raw); err != nil {
			return fmt.Errorf("%w: %w", errLargeHistory, err)
		}
		return nil
	})
	if err == nil {
		err = w.End()
	}
	return b.Bytes(), err
}
