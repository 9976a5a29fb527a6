package outside

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/aymanbagabas/go-udiff"

	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/repo"
)

// Lookup is a declared lookup with the state of its snapshot.
type Lookup struct {
	Name     string `json:"name"`
	Snapshot string `json:"snapshot"` // its file in the repository
	Source   string `json:"source"`   // the source of the lookup
	Declared string `json:"declared"` // file:line
	State    string `json:"state"`    // fresh, stale, missing, bad, failed, changed or unchanged
	Taken    int64  `json:"taken_ns,omitempty"`
	Error    string `json:"error,omitempty"`
	Diff     string `json:"diff,omitempty"` // of the value, unified
}

// Snapshots are the recorded answers to the lookups of a repository.
type Snapshots struct {
	Directory string    // of the repository, where changed snapshots are written
	Tree      repo.Tree // of the same files
	Now       func() time.Time
	// Ask returns the answer to a lookup. Only Refresh uses it.
	Ask func(ctx context.Context, l source.Lookup, dir string) ([]byte, error)
}

func describeLookup(l source.Lookup) Lookup {
	return Lookup{Name: l.Name, Snapshot: l.Snapshot(), Source: l.Source(),
		Declared: fmt.Sprintf("%s:%d", l.Range.File, l.Range.Start.Line)}
}

// State returns the state of the snapshot of a lookup, without asking.
func (s Snapshots) State(l source.Lookup) Lookup {
	d := describeLookup(l)
	text, err := s.Tree.ReadFile(l.Snapshot())
	if errors.Is(err, fs.ErrNotExist) {
		d.State = "missing"
		return d
	}
	var snap source.Snapshot
	if err == nil {
		snap, err = source.ParseSnapshot(text)
	}
	if err == nil && snap.Source != l.Source() {
		err = fmt.Errorf("it answers %s", snap.Source)
	}
	switch {
	case err != nil:
		d.State, d.Error = "bad", err.Error()
		return d
	case l.MaxAge > 0 && s.Now().Sub(snap.Taken) > l.MaxAge:
		d.State = "stale"
	default:
		d.State = "fresh"
	}
	d.Taken = snap.Taken.UnixNano()
	return d
}

// Refresh asks, and writes the snapshot if the value is different or if the lookup limits its age. If
// the lookup fails, the old snapshot stays.
func (s Snapshots) Refresh(ctx context.Context, l source.Lookup) Lookup {
	d := describeLookup(l)
	fail := func(err error) Lookup {
		d.State, d.Error = "failed", err.Error()
		return d
	}
	answer, err := s.Ask(ctx, l, s.Directory)
	if err != nil {
		return fail(err)
	}
	now, err := source.NewSnapshot(l, answer, s.Now())
	if err != nil {
		return fail(err)
	}
	var was source.Snapshot
	if old, err := s.Tree.ReadFile(l.Snapshot()); err == nil {
		was, _ = source.ParseSnapshot(old) // a damaged snapshot is written again
	}
	d.State, d.Taken = "unchanged", now.Taken.UnixNano()
	if was.Digest != now.Digest || was.Source != now.Source {
		d.State, d.Diff = "changed", valueDiff(l, was, now)
	} else if l.MaxAge == 0 {
		return d
	}
	text, err := now.Bytes()
	if err == nil {
		err = writeFile(s.Directory, l.Snapshot(), text, plainFile)
	}
	if err != nil {
		return fail(err)
	}
	return d
}

// valueDiff returns the difference of two answers in the unified form.
func valueDiff(l source.Lookup, was, now source.Snapshot) string {
	return udiff.Unified("a/"+l.Snapshot(), "b/"+l.Snapshot(), indented(was.Value), indented(now.Value))
}

func indented(value []byte) string {
	var b bytes.Buffer
	if len(value) == 0 || json.Indent(&b, value, "", "  ") != nil {
		return ""
	}
	return b.String() + "\n"
}
