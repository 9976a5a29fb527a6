// Package watch sees what changes on a machine, as soon as it does: files by inotify, and
// units by what systemd tells. Nothing that it misses is lost, since an agent looks at
// everything from time to time; so what it cannot watch it says, and goes on.
//
//	w, err := watch.New("/", units)      // an agent.Watcher
//	err = w.Watch(managed)               // says what cannot be watched
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

// What changes within quiet of each other is told at once, and nothing waits longer than
// longest.
const (
	quiet   = 30 * time.Millisecond
	longest = 80 * time.Millisecond
)

// Watch is an agent.Watcher. Watch and Run may be called from different goroutines.
type Watch struct {
	root  string
	units func(ctx context.Context, each func(name string)) error
	files *fsnotify.Watcher
	poke  chan struct{}

	mu       sync.Mutex
	dirs     map[string]bool
	relevant map[string]bool // what is managed, and the directories on the way there
	whole    map[string]bool
	names    map[string]bool // of units
}

// New begins to watch nothing, below a root. units tells which unit changes until its
// context ends; nil: nobody knows. It holds one inotify instance until Run ends.
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
			_ = w.files.Remove(dir) // gone already, if it cannot be
			delete(w.dirs, dir)
		}
	}
	var wrong error
	count := 0
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		// Again even if it was watched: another directory may stand there now.
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

// directories are those that have to be watched: of each path the nearest that is there.
func (w *Watch) directories(m agent.Managed) (dirs, relevant, whole map[string]bool) {
	dirs, relevant, whole = map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, p := range m.Whole {
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

// nearest is the directory, or the nearest above it that is there.
func nearest(dir string) string {
	for dir != filepath.Dir(dir) {
		real, err := filepath.EvalSymlinks(dir)
		if err == nil && real == dir {
			return dir
		}
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return dir // through a link: inotify follows it
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
				return errors.New("the watch of files has ended")
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

// gather tells of what changes within a moment once.
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
