package host

import (
	"context"
	"time"
)

type markKey struct{}

// WithMark gives every program that is run with the context a mark: what mark
// says at that moment stands in its environment, and in that of all that it
// starts. A later engine finds by it what a dead one left running: see Reaper.
func WithMark(ctx context.Context, mark func() string) context.Context {
	return context.WithValue(ctx, markKey{}, mark)
}

// MarkOf is the mark that a program has which is run with the context now, ""
// when it has none.
func MarkOf(ctx context.Context) string {
	if mark, ok := ctx.Value(markKey{}).(func() string); ok {
		return mark()
	}
	return ""
}

// Finder is a host that can tell whether it has a program.
type Finder interface {
	// Find gives an error that is fs.ErrNotExist where there is no such program. A name
	// without a slash is looked up in PATH, a relative path in dir.
	Find(name, dir string) error
}

// Reaper is a host that can end what a dead engine left running.
type Reaper interface {
	// Reap kills every program whose mark is lost, with all that it started,
	// and gives how many processes that were. It returns when they have gone.
	// Those with patience may come to their end by themselves that long. What
	// shed its environment, its session and its parents is not found.
	Reap(ctx context.Context, lost func(mark string) (lost bool, patience time.Duration)) (ended int, err error)
}
