package host

import (
	"context"
	"time"
)

type markKey struct{}

// WithMark marks every program that runs with the context: the result of mark at that moment is in
// its environment, and in the environment of its descendants. A later engine uses it to find the
// programs that a dead engine left running: see Reaper.
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

// Finder is a host that can report whether it has a program.
type Finder interface {
	// Find returns fs.ErrNotExist if the program does not exist. A name without a slash is looked
	// up in PATH, a relative path in dir.
	Find(name, dir string) error
}

// Reaper is a host that can end programs that a dead engine left running.
type Reaper interface {
	// Reap kills every program with a lost mark and its descendants, waits for their end, and
	// returns the number of processes. Programs with patience get that time to end by themselves.
	// It does not find processes that have changed their environment, their session and their
	// parent.
	Reap(ctx context.Context, lost func(mark string) (lost bool, patience time.Duration)) (ended int, err error)
}
