package repo

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os/exec"
	"path"
	"strings"
	"syscall"
	"time"
)

// watcher finds the directories whose names determine the content of a work tree. These are all
// directories that are not ignored, including empty ones: a new file in any of them counts. It
// skips ignored directories and everything below them.
type watcher struct {
	repo        *Repo
	began       time.Time
	listed      map[string]bool  // directories with files that git lists
	known       map[string]bool  // paths that git lists
	directories map[string]stamp // found so far
	extra       []trace          // files that git reads but does not list
}

// maxDirectories is the maximum number of watched directories.
const maxDirectories = 20_000

var errUnwatchable = errors.New("the work tree cannot be watched")

// watch returns the stamps of all directories, and of ignore files that are ignored themselves. An
// error only means that no promise is possible.
func (r *Repo) watch(ctx context.Context, began time.Time, traces []trace) (map[string]stamp, []trace, error) {
	w := &watcher{repo: r, began: began, listed: map[string]bool{".": true}, known: make(map[string]bool, len(traces)),
		directories: map[string]stamp{}}
	for _, t := range traces {
		w.known[t.path] = true
		for dir := path.Dir(t.path); !w.listed[dir]; dir = path.Dir(dir) {
			w.listed[dir] = true
		}
	}
	level := []string{"."}
	for len(level) > 0 {
		below, err := w.level(level)
		if err != nil {
			return nil, nil, err
		}
		if level, err = w.wanted(ctx, below); err != nil {
			return nil, nil, err
		}
	}
	for dir := range w.listed {
		if _, ok := w.directories[dir]; !ok {
			return nil, nil, errUnwatchable
		}
	}
	return w.directories, w.extra, nil
}

// level reads some directories and returns their subdirectories.
func (w *watcher) level(dirs []string) (below []string, err error) {
	for _, dir := range dirs {
		if len(w.directories) >= maxDirectories {
			return nil, errUnwatchable
		}
		more, err := w.directory(dir)
		if err != nil {
			return nil, err
		}
		below = append(below, more...)
	}
	return below, nil
}

func (w *watcher) directory(dir string) (below []string, err error) {
	f, err := w.repo.root.OpenFile(dir, openFlags|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !stampOf(st).settled(w.began) {
		return nil, errUnwatchable
	}
	w.directories[dir] = stampOf(st)
	entries, err := f.ReadDir(-1)
	for _, e := range entries {
		name := joined(dir, e.Name())
		switch {
		case e.Name() == ".git" && dir == ".":
		case e.Name() == ".git":
			return nil, errUnwatchable // a repository of its own
		case e.IsDir():
			below = append(below, name)
		case e.Name() == ".gitignore" && !w.known[name]:
			if err := w.ignoreFile(name, e); err != nil {
				return nil, err
			}
		}
	}
	return below, err
}

// ignoreFile watches an ignore file that git does not list, being ignored.
func (w *watcher) ignoreFile(name string, e fs.DirEntry) error {
	info, err := e.Info()
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() || !stampOf(st).settled(w.began) {
		return errUnwatchable
	}
	w.extra = append(w.extra, trace{path: name, stamp: stampOf(st)})
	return nil
}

// wanted removes ignored directories. It retains a directory with a file that git lists, because
// that file can disappear.
func (w *watcher) wanted(ctx context.Context, dirs []string) ([]string, error) {
	var keep, ask []string
	for _, dir := range dirs {
		if w.listed[dir] {
			keep = append(keep, dir)
		} else {
			ask = append(ask, dir)
		}
	}
	if len(ask) == 0 {
		return keep, nil
	}
	ignored, err := w.repo.git.ignored(ctx, ask)
	if err != nil {
		return nil, err
	}
	for _, dir := range ask {
		if !ignored[dir] {
			keep = append(keep, dir)
		}
	}
	return keep, nil
}

// ignored returns the paths that git ignores. git does not accept literal paths here; after "./" no
// name has a special meaning.
func (g git) ignored(ctx context.Context, paths []string) (map[string]bool, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cmd := g.command(ctx, "check-ignore", "-z", "--stdin")
	cmd.Env = append(cmd.Env, "GIT_LITERAL_PATHSPECS=0")
	cmd.Stdin = strings.NewReader("./" + strings.Join(paths, "\x00./") + "\x00")
	var out bytes.Buffer
	cmd.Stdout = &out
	silent := time.AfterFunc(g.silence, func() { cancel(errSilent) })
	defer silent.Stop()
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 { // none is
		err = nil
	}
	found := map[string]bool{}
	for _, p := range strings.Split(out.String(), "\x00") {
		found[strings.TrimPrefix(p, "./")] = true
	}
	return found, err
}
