// Package watch reports changes on a host soon after they happen: files through inotify, and units
// through systemd. A missed change is not lost, because the agent also checks everything
// periodically. Therefore paths that cannot be watched are only reported.
//
//	w, err := watch.New("/", units)      // an agent.Watcher
//	err = w.Watch(managed)               // the error names unwatched directories
//	err = w.Run(ctx, touched)
package watch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
	"golang.org/x/sync/errgroup"

	"fettle.dev/fettle/internal/fleet/agent"
	"fettle.dev/fettle/internal/host"
)

// Changes are reported together after a pause of quiet, and at the latest after longest.
const (
	quiet   = 30 * time.Millisecond
	longest = 80 * time.Millisecond
)

// Watch is an agent.Watcher. Its methods can be called from different goroutines.
type Watch struct {
	root  string
	units func(ctx context.Context, each func(name string)) error
	files *fsnotify.Watcher
	poke  chan struct{}

	mu       sync.Mutex
	dirs     map[string]bool
	relevant map[string]bool // managed paths and their parent directories
	whole    map[string]bool
	names    map[string]bool // names of managed units
}

// New makes a Watch of the paths below root, at first without any path. units calls each with the
// name of every changed unit until its context ends; nil: units are not watched. The Watch uses one
// inotify instance until Run ends.
func New(root string, units func(ctx context.Context, each func(name string)) error) (*Watch, error) {
	files, err := fsnotify.NewBufferedWatcher(4096)
	if err != nil {
		return nil, fmt.Errorf("cannot watch files: %w", err)
	}
	return &Watch{root: root, units: units, files: files, poke: make(chan struct{}, 1), dirs: map[string]bool{}}, nil
}

// Watch implements agent.Watcher.
func (w *Watch) Watch(m agent.Managed) error {
	dirs, relevant, whole := w.directories(m)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.relevant, w.whole, w.names = relevant, whole, setOf(m.Units)
	for dir := range w.dirs {
		if !dirs[dir] {
			_ = w.files.Remove(dir) // an error means that the directory no longer exists
			delete(w.dirs, dir)
		}
	}
	var wrong error
	count := 0
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		// Add it again even if it was watched: it can be a new directory with the same name.
		if err := w.files.Add(dir); err != nil {
			if count++; wrong == nil {
				wrong = fmt.Errorf("%s: %w", dir, err)
			}
			continue
		}
		w.dirs[dir] = true
	}
	if wrong != nil {
		return fmt.Errorf("cannot watch %d of %d directories: %w%s", count, len(dirs), wrong, hint(wrong))
	}
	return nil
}

func hint(err error) string {
	if host.IsNoSpace(err) {
		return "; raise fs.inotify.max_user_watches with sysctl"
	}
	return ""
}

func setOf(names []string) map[string]bool {
	out := map[string]bool{}
	for _, n := range names {
		out[n] = true
	}
	return out
}

// directories returns the directories to watch: for each path the nearest existing parent.
func (w *Watch) directories(m agent.Managed) (dirs, relevant, whole map[string]bool) {
	dirs, relevant, whole = map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, p := range m.WholeDirectories {
		p = filepath.Join(w.root, p)
		whole[p], dirs[nearest(p)] = true, true
	}
	for _, p := range m.Paths {
		p = filepath.Join(w.root, p)
		dirs[nearest(filepath.Dir(p))] = true
		for at := p; !relevant[at] && at != filepath.Dir(at); at = filepath.Dir(at) {
			relevant[at] = true
		}
	}
	return dirs, relevant, whole
}

// nearest returns the directory, or its nearest existing parent.
func nearest(dir string) string {
	for dir != filepath.Dir(dir) {
		real, err := filepath.EvalSymlinks(dir)
		if err == nil && real == dir {
			return dir
		}
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return dir // the path contains a link, which inotify follows
		}
		dir = filepath.Dir(dir)
	}
	return dir
}

// Run implements agent.Watcher.
func (w *Watch) Run(ctx context.Context, touched func()) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return w.listen(ctx) })
	g.Go(func() error { w.gather(ctx, touched); return nil })
	if w.units != nil {
		g.Go(func() error { return w.units(ctx, w.unit) })
	}
	err := g.Wait()
	if err = errors.Join(err, w.files.Close()); ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func (w *Watch) listen(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, ok := <-w.files.Events:
			if !ok {
				return errors.New("the watch on files ended unexpectedly")
			}
			if w.matters(e.Name) {
				w.tell()
			}
		case <-w.files.Errors: // events were lost
			w.tell()
		}
	}
}

func (w *Watch) matters(name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.relevant[name] || w.whole[name] || w.whole[filepath.Dir(name)]
}

func (w *Watch) unit(name string) {
	w.mu.Lock()
	known := w.names[name]
	w.mu.Unlock()
	if known {
		w.tell()
	}
}

func (w *Watch) tell() {
	select {
	case w.poke <- struct{}{}:
	default:
	}
}

// gather calls touched once for all changes within a moment.
func (w *Watch) gather(ctx context.Context, touched func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.poke:
		}
		last := time.NewTimer(longest)
		for calm := false; !calm; {
			next := time.NewTimer(quiet)
			select {
			case <-ctx.Done():
				return
			case <-w.poke:
			case <-next.C:
				calm = true
			case <-last.C:
				calm = true
			}
			next.Stop()
		}
		last.Stop()
		touched()
	}
}
