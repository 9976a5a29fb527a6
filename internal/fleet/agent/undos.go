package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet/smallfile"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/lang/query"
)

// undosFormat is the format of the file of Undos.
const undosFormat = "fettle.task-undos/1"

// keepUndos is the time for which undos of tasks that were removed are stored, and maxUndos is their largest number.
const (
	keepUndos = 180 * 24 * time.Hour
	maxUndos  = 500
)

// Undos stores the undos of tasks of the applied content in a file. With it, this host can undo tasks that newer
// content no longer declares. The undo is part of content that this host verified and applied. Undos is safe for
// concurrent use.
type Undos struct {
	Files host.FS
	File  string
	mu    sync.Mutex
}

// undo is the undo of a task of this host.
type undo struct {
	Task    query.ScopeTask `json:"task"`
	Removed int64           `json:"removed,omitempty"` // seconds since 1970; 0: the applied content declares the task
}

type undosDoc struct {
	Format string          `json:"format"`
	Undos  map[string]undo `json:"undos"` // by KIND/NAME/TASK
}

// Note stores the undos of the tasks that the applied content declares for a target, and returns all stored ones. It
// keeps undos of tasks that the content no longer declares, the newest first. A task without an undo has none.
func (u *Undos) Note(all query.Scopes, target string, now time.Time) (map[string]undo, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	stored, err := u.load()
	if err != nil {
		return nil, err
	}
	next := map[string]undo{}
	for key, x := range stored {
		if x.Removed == 0 {
			x.Removed = now.Unix()
		}
		if now.Unix()-x.Removed < int64(keepUndos/time.Second) {
			next[key] = x
		}
	}
	for _, s := range all.Scopes {
		for _, t := range s.Tasks {
			if !slices.Contains(s.Targets, target) {
				continue
			}
			if delete(next, s.ID()+"/"+t.Name); t.Undo != nil {
				next[s.ID()+"/"+t.Name] = undo{Task: *t.Undo}
			}
		}
	}
	for len(next) > maxUndos {
		oldest := slices.MinFunc(slices.Sorted(maps.Keys(next)), func(a, b string) int {
			return ageOf(next[b], now) - ageOf(next[a], now)
		})
		delete(next, oldest)
	}
	if reflect.DeepEqual(next, stored) {
		return next, nil
	}
	text, err := json.Marshal(undosDoc{undosFormat, next})
	if err == nil {
		err = smallfile.Write(u.Files, u.File, text)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot store the undos of tasks: %w", err)
	}
	return next, nil
}

// ageOf returns the time since the removal of a task, in seconds.
func ageOf(x undo, now time.Time) int {
	if x.Removed == 0 {
		return -1
	}
	return int(max(now.Unix()-x.Removed, 0))
}

func (u *Undos) load() (map[string]undo, error) {
	text, err := smallfile.Read(u.Files, u.File)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]undo{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the undos of tasks: %w", err)
	}
	var d undosDoc
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", u.File, err)
	}
	if d.Format != undosFormat {
		return nil, fmt.Errorf("cannot read %s of the format %.40q: this version of fettle reads %s", u.File, d.Format,
			undosFormat)
	}
	if d.Undos == nil {
		d.Undos = map[string]undo{}
	}
	return d.Undos, nil
}
