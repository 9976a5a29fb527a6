package repo

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Mirror is a bare repository that follows a remote repository. It has the requested branches and
// tags, each with its newest commit and no history. It has no work tree, and none of its content is
// ever run. One goroutine of one process can change it at a time. Other processes can open and read
// it meanwhile.
type Mirror struct {
	remote Remote
	dir    string
	limits MirrorLimits
}

// MirrorLimits limit the cost of a remote repository. The zero value of a field is its default.
type MirrorLimits struct {
	Size    int64         // bytes of the directory; default 4 GiB
	Refs    int           // branches and tags that the other side may have; default 100,000
	Timeout time.Duration // of a whole update; default 10 minutes
}

// errLarge is why a fetch was ended.
var errLarge = errors.New("it is larger than the limit: make it smaller, or increase the limit")

// OpenMirror opens the mirror in a directory, or makes it if it does not exist. If the directory
// has other content, this is an error, and nothing is overwritten.
func OpenMirror(ctx context.Context, dir string, remote Remote, limits MirrorLimits) (*Mirror, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	limits.Size = cmp.Or(limits.Size, 4<<30)
	limits.Refs = cmp.Or(limits.Refs, 100_000)
	limits.Timeout = cmp.Or(limits.Timeout, 10*time.Minute)
	m := &Mirror{remote, abs, limits}
	if isGitDir(abs) {
		return m, nil
	}
	if list, err := os.ReadDir(abs); err == nil && len(list) > 0 {
		return nil, fmt.Errorf("cannot create a mirror in %q: the directory is not empty; remove it", abs)
	}
	if err := os.MkdirAll(filepath.Dir(abs), 0o700); err != nil {
		return nil, err
	}
	return m, m.create(ctx)
}

// create makes the mirror in a directory beside its own one and renames it. Therefore a mirror
// exists completely or not at all, also after a kill or a power cut.
func (m *Mirror) create(ctx context.Context) error {
	format, err := m.remote.format(ctx)
	if err != nil {
		return err
	}
	fresh := m.dir + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return fmt.Errorf("cannot create a mirror: %w", err)
	}
	if _, err := m.remote.run(ctx, "init", "--quiet", "--bare", "--template=", "--object-format="+format,
		fresh); err != nil {
		return fmt.Errorf("cannot create a mirror: %w", err)
	}
	if err := syncTree(fresh); err != nil {
		return fmt.Errorf("cannot create a mirror: %w", err)
	}
	return os.Rename(fresh, m.dir)
}

// syncTree makes the files and directories of a new repository durable.
func syncTree(dir string) error {
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		return errors.Join(f.Sync(), f.Close())
	})
}

// format returns the object format of the remote. It is unknown for an empty repository.
func (r Remote) format(ctx context.Context) (string, error) {
	refs, err := r.Refs(ctx, 100_000)
	for _, id := range refs {
		if len(id) == 64 {
			return "sha256", err
		}
	}
	return "sha1", err
}

// Dir returns its directory, for Open.
func (m *Mirror) Dir() string { return m.dir }

// Refs returns the branches and tags of the remote, from refs/heads/main to the hash of its commit,
// and its HEAD. More than most refs are an error.
func (r Remote) Refs(ctx context.Context, most int) (map[string]string, error) {
	return r.listRefs(ctx, most, func(name string) bool {
		return name == "HEAD" || strings.HasPrefix(name, "refs/heads/") || strings.HasPrefix(name, "refs/tags/")
	})
}

// listRefs returns the refs of the remote that match one of the patterns of git ls-remote, and that keep accepts.
func (r Remote) listRefs(ctx context.Context, most int, keep func(name string) bool,
	patterns ...string) (map[string]string, error) {
	out, err := r.run(ctx, slices.Concat([]string{"ls-remote", "--quiet", "--", r.source}, patterns)...)
	if err != nil {
		return nil, fmt.Errorf("cannot list the branches of %q: %w", r.source, err)
	}
	refs := map[string]string{}
	for line := range strings.Lines(out) {
		id, name, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok || !isObjectID(id) {
			return nil, fmt.Errorf("cannot list the branches of %q: it answered %q", r.source, shorten(plainText(line)))
		}
		// A tag occurs twice: as itself, and as NAME^{} for its object.
		name = strings.TrimSuffix(name, "^{}")
		if keep(name) {
			refs[name] = id
		}
		if len(refs) > most {
			return nil, fmt.Errorf("cannot follow %q: it has more than %d branches and tags", r.source, most)
		}
	}
	return refs, nil
}

// RefError is why one ref of a repository that answers cannot be followed.
type RefError struct {
	Ref string
	Err error
}

func (e *RefError) Error() string { return e.Err.Error() }

// Unwrap is the cause.
func (e *RefError) Unwrap() error { return e.Err }

// Update fetches the missing ones of the wanted names: branches and tags, "" for the remote's HEAD,
// and commits by their full hashes. It returns the commit of each name that was found. An error
// joins a RefError for each failed name. Other names and earlier content are not affected: an
// update never removes anything.
func (m *Mirror) Update(ctx context.Context, wanted []string) (map[string]string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, m.limits.Timeout,
		fmt.Errorf("cannot fetch from %q: it took longer than %s", m.remote.source, m.limits.Timeout))
	defer cancel()
	if err := m.sweep(); err != nil {
		return nil, err
	}
	refs, err := m.remote.Refs(ctx, m.limits.Refs)
	if err != nil {
		return nil, err
	}
	found, wrong := map[string]string{}, []error{}
	for _, name := range wanted {
		id, err := pick(refs, name)
		if err == nil && !m.has(ctx, id) {
			err = m.fetch(ctx, id)
		}
		if err == nil {
			id, err = m.keep(ctx, name, id)
		}
		if err != nil {
			wrong = append(wrong, &RefError{name, fmt.Errorf("cannot follow %q of %q: %w", name, m.remote.source, err)})
			continue
		}
		found[name] = id
	}
	return found, errors.Join(wrong...)
}

// pick resolves a name at the remote.
func pick(refs map[string]string, name string) (string, error) {
	if name == "" {
		name = "HEAD"
	}
	if isObjectID(name) {
		return name, nil
	}
	if err := checkRev(name); err != nil {
		return "", err
	}
	var ids []string
	for _, full := range []string{name, "refs/heads/" + name, "refs/tags/" + name} {
		if id := refs[full]; id != "" {
			ids = append(ids, id)
		}
	}
	switch {
	case len(ids) > 1 && ids[0] != ids[1]:
		return "", fmt.Errorf("a branch and a tag have this name; use refs/heads/%s or refs/tags/%s", name, name)
	case len(ids) > 0:
		return ids[0], nil
	}
	var names []string
	for _, full := range slices.Sorted(maps.Keys(refs)) {
		names = append(names, shortRef(full))
	}
	if near := nearest(name, names, 3); len(near) > 0 {
		return "", fmt.Errorf("there is no such branch or tag. Did you mean %s?", quoteList(near))
	}
	return "", errors.New("there is no such branch or tag")
}

// git returns the mirror as a repository for reading.
func (m *Mirror) git() git { return git{exe: m.remote.exe, gitDir: m.dir} }

// has reports whether a commit exists with all its files.
func (m *Mirror) has(ctx context.Context, id string) bool {
	out, err := m.git().output(ctx, "for-each-ref", "--count=1", "--format=%(objectname)", "--points-at="+id, "refs/kept")
	return err == nil && strings.TrimSpace(out) == id
}

// fetch fetches one commit without its history.
func (m *Mirror) fetch(ctx context.Context, id string) error {
	return m.fetchWith(ctx, id, "--depth=1")
}

// fetchWith fetches one commit with an option of git fetch, and ends git if the directory grows too
// large.
func (m *Mirror) fetchWith(ctx context.Context, id, option string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.watch(ctx, cancel)
	}()
	_, err := m.remote.run(ctx, "--git-dir", m.dir, "fetch", "--quiet", option, "--no-tags", "--no-write-fetch-head",
		"--no-recurse-submodules", "--", m.remote.source, id)
	cancel(nil)
	<-done
	if err != nil {
		return errors.Join(err, m.sweep())
	}
	if directorySize(m.dir) > m.limits.Size {
		return errLarge
	}
	return nil
}

// watch checks the size of the directory until ctx ends.
func (m *Mirror) watch(ctx context.Context, cancel context.CancelCauseFunc) {
	t := time.NewTicker(250 * time.Millisecond)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			if directorySize(m.dir) > m.limits.Size {
				cancel(errLarge)
			}
		}
	}
}

// directorySize returns the bytes of all files. A file that disappears meanwhile counts as empty.
func directorySize(dir string) (sum int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
		return nil
	})
	return sum
}

// sweep removes partial files and locks of an interrupted git. If a git process was killed, every later one fails
// because of its locks. Each change of the mirror calls sweep first, while no other process changes the mirror.
func (m *Mirror) sweep() error {
	var wrong []error
	for _, pattern := range []string{"objects/pack/tmp_*", "objects/tmp_*", "*.lock", "gc.pid", "refs/*/*.lock",
		"objects/*.lock", "objects/info/*.lock", "objects/info/commit-graphs/*.lock"} {
		names, _ := filepath.Glob(filepath.Join(m.dir, pattern))
		for _, name := range names {
			if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
				wrong = append(wrong, err)
			}
		}
	}
	if err := errors.Join(wrong...); err != nil {
		return fmt.Errorf("cannot remove what an interrupted git left in %q: %w", m.dir, err)
	}
	return nil
}

// keep makes the fetched commit permanent and returns its hash. id can be the object of a tag of
// the commit.
func (m *Mirror) keep(ctx context.Context, name, id string) (string, error) {
	out, err := m.git().output(ctx, "rev-parse", "--verify", "--end-of-options", id+"^{commit}")
	if err != nil {
		return "", fmt.Errorf("%q is not a commit: %w", name, err)
	}
	commit := strings.TrimSpace(out)
	for _, ref := range []string{"refs/kept/" + commit, followed(name)} {
		if _, err := m.git().output(ctx, "update-ref", ref, commit); err != nil {
			return "", err
		}
	}
	return commit, nil
}

// followed returns the ref in which the mirror records the last resolution of a name. It supports
// names of any kind.
func followed(name string) string { return "refs/followed/" + hex.EncodeToString([]byte("="+name)) }

// Known returns the last result of Update for the wanted names, without contacting the remote.
// Names that were never found are omitted.
func (m *Mirror) Known(ctx context.Context, wanted []string) (map[string]string, error) {
	out, err := m.git().output(ctx, "for-each-ref", "--format=%(refname) %(objectname)", "refs/followed")
	if err != nil {
		return nil, fmt.Errorf("cannot read the mirror %q: %w", m.dir, err)
	}
	found := map[string]string{}
	for line := range strings.Lines(out) {
		ref, commit, _ := strings.Cut(strings.TrimSpace(line), " ")
		for _, name := range wanted {
			if followed(name) == ref {
				found[name] = commit
			}
		}
	}
	return found, nil
}

// Tidy removes commits for which keep returns false, the records of names that resolved to them,
// and unreferenced files. keep gets the full hash. The cost is similar to reading the remaining
// content, so call it only occasionally.
func (m *Mirror) Tidy(ctx context.Context, keep func(commit string) bool) error {
	if err := m.sweep(); err != nil {
		return err
	}
	out, err := m.git().output(ctx, "for-each-ref", "--format=%(refname) %(objectname)", "refs/kept", "refs/followed")
	if err != nil {
		return fmt.Errorf("cannot clean up the mirror %q: %w", m.dir, err)
	}
	for line := range strings.Lines(out) {
		ref, commit, _ := strings.Cut(strings.TrimSpace(line), " ")
		if keep(commit) {
			continue
		}
		if _, err := m.git().output(ctx, "update-ref", "-d", ref); err != nil {
			return fmt.Errorf("cannot clean up the mirror %q: %w", m.dir, err)
		}
	}
	if _, err := m.git().output(ctx, "gc", "--quiet", "--prune=now"); err != nil {
		return fmt.Errorf("cannot clean up the mirror %q: %w", m.dir, err)
	}
	return nil
}
