package repo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// History is a bare repository with all ancestors of the fetched commits of a remote repository. It
// has no files if the remote can omit them. It is separate from a Mirror, which claims to have all
// files of its commits. One goroutine of one process can use it at a time.
//
//	h, err := repo.OpenHistory(ctx, "/var/lib/fettle-hub/mirror/site.history.git", remote, repo.MirrorLimits{})
//	err = h.Fetch(ctx, commit)
//	commits, err := h.Since(ctx, commit, []string{accepted}, 10_000)
//	err = h.Read(ctx, commits, func(raw []byte) error { … })
type History struct{ mirror Mirror }

// ErrLongHistory is in the chain of the error about a history with too many commits.
var ErrLongHistory = errors.New("the history has too many commits")

// ErrNoCommit is in the chain of the error about a commit that the history does not have.
var ErrNoCommit = errors.New("the repository does not have the commit")

// OpenHistory opens the history in a directory, or makes it if it does not exist.
func OpenHistory(ctx context.Context, dir string, remote Remote, limits MirrorLimits) (*History, error) {
	m, err := OpenMirror(ctx, dir, remote, limits)
	if err != nil {
		return nil, err
	}
	return &History{*m}, nil
}

// Fetch fetches a commit, given by its full hash, with all its ancestors. It does not contact the
// remote if the commit exists. An interrupted fetch leaves nothing that counts.
func (h *History) Fetch(ctx context.Context, commit string) error {
	if !isObjectID(commit) {
		return fmt.Errorf("cannot fetch the history of %q: it is not the full hash of a commit", shorten(commit))
	}
	if h.has(ctx, commit) {
		return nil
	}
	m := &h.mirror
	if err := m.sweep(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, m.limits.Timeout,
		fmt.Errorf("cannot fetch from %q: it took longer than %s", m.remote.source, m.limits.Timeout))
	defer cancel()
	err := m.fetchWith(ctx, commit, "--filter=tree:0")
	if err == nil {
		_, err = m.git().output(ctx, "update-ref", "refs/kept/"+commit, commit)
	}
	if err == nil {
		err = h.repack(ctx)
	}
	if err != nil {
		return fmt.Errorf("cannot fetch the history of %.12s from %q: %w", commit, m.remote.source, err)
	}
	return nil
}

// maxPacks is the number of packs above which they become one: each fetch adds a pack.
const maxPacks = 50

func (h *History) repack(ctx context.Context) error {
	packs, err := filepath.Glob(filepath.Join(h.mirror.dir, "objects/pack/*.pack"))
	if err != nil || len(packs) <= maxPacks {
		return err
	}
	_, err = h.mirror.git().output(ctx, "repack", "-a", "-d", "-k", "-q")
	return err
}

// has reports whether a commit exists. Every fetch brings all ancestors, so they exist as well.
func (h *History) has(ctx context.Context, commit string) bool {
	out, err := h.mirror.git().output(ctx, "cat-file", "-t", commit)
	return err == nil && strings.TrimSpace(out) == "commit"
}

// Since returns the hashes of the commits that show how a commit relates to accepted commits:
//
//   - each commit that is reachable from commit, and not from an accepted commit
//   - for each parent of these that is reachable from an accepted commit, the commits on a path to it;
//     for the commit itself, if it is
//   - the commits on a path from commit to the first accepted commit, if it is an ancestor
//
// Accepted commits that do not exist are ignored. More than most commits are ErrLongHistory.
func (h *History) Since(ctx context.Context, commit string, accepted []string, most int) ([]string, error) {
	if !isObjectID(commit) || !h.has(ctx, commit) {
		return nil, fmt.Errorf("cannot read the history of %.64q: %w", commit, ErrNoCommit)
	}
	have := slices.DeleteFunc(slices.Clone(accepted), func(id string) bool { return !isObjectID(id) || !h.has(ctx, id) })
	s := &sinceReader{history: h, most: most, seen: map[string]bool{}}
	edge, err := s.fresh(ctx, commit, have)
	if err == nil && len(edge) > 0 {
		err = s.paths(ctx, have, edge)
	}
	if err == nil && len(have) > 0 && have[0] == accepted[0] && have[0] != commit {
		err = s.paths(ctx, []string{commit}, map[string]bool{have[0]: true})
	}
	return s.out, err
}

// sinceReader gathers commits, each once.
type sinceReader struct {
	history *History
	most    int
	out     []string
	seen    map[string]bool
}

func (s *sinceReader) add(id string) error {
	if s.seen[id] {
		return nil
	}
	if s.seen[id] = true; len(s.out) == s.most {
		return fmt.Errorf("cannot deliver the history: %w, more than %d", ErrLongHistory, s.most)
	}
	s.out = append(s.out, id)
	return nil
}

// fresh adds the commits that are reachable from a commit and not from accepted commits. It returns
// their parents that are ancestors of accepted commits.
func (s *sinceReader) fresh(ctx context.Context, commit string, accepted []string) (edge map[string]bool, err error) {
	edge = map[string]bool{}
	args := append([]string{"--boundary", commit, "--not"}, accepted...)
	err = s.revisions(ctx, args, func(line string) error {
		id, known := strings.CutPrefix(line, "-")
		if !known {
			return s.add(id)
		}
		if !slices.Contains(accepted, id) {
			edge[id] = true
		}
		return nil
	})
	if !s.seen[commit] && !slices.Contains(accepted, commit) {
		edge[commit] = true // it is an ancestor of an accepted commit
	}
	return edge, err
}

// errFound ends a search.
var errFound = errors.New("found")

// paths adds the commits on a path from one of the starts to each goal, without the goal. A goal
// that is not an ancestor adds nothing.
func (s *sinceReader) paths(ctx context.Context, starts []string, goals map[string]bool) error {
	child := map[string]string{} // the commit that led to a commit
	left := len(goals)
	err := s.revisions(ctx, append([]string{"--parents"}, starts...), func(line string) error {
		ids := strings.Fields(line)
		for _, parent := range ids[1:] {
			if _, known := child[parent]; known || slices.Contains(starts, parent) {
				continue
			}
			if child[parent] = ids[0]; goals[parent] {
				left--
			}
		}
		if left == 0 {
			return errFound
		}
		return nil
	})
	if err != nil && !errors.Is(err, errFound) {
		return err
	}
	for goal := range goals {
		for id := child[goal]; id != ""; id = child[id] {
			if err := s.add(id); err != nil {
				return err
			}
		}
	}
	return nil
}

// revisions calls fn with each line of git rev-list.
func (s *sinceReader) revisions(ctx context.Context, args []string, fn func(line string) error) error {
	return s.history.mirror.git().stream(ctx, func(r io.Reader) error {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if err := fn(lines.Text()); err != nil {
				return err
			}
		}
		return lines.Err()
	}, append([]string{"rev-list"}, args...)...)
}

// Read calls fn with the object of each commit, in order. Each is checked against its hash.
func (h *History) Read(ctx context.Context, commits []string, fn func(raw []byte) error) error {
	b := &batch{git: h.mirror.git()}
	err := b.each(ctx, commits, func(i int, o object) error {
		if o.typ != "commit" || o.size > maxRaw {
			return &objectError{commits[i], fmt.Sprintf("it is a %s of %d bytes", o.typ, o.size)}
		}
		raw, err := io.ReadAll(o.r)
		if err == nil {
			err = fn(raw)
		}
		return err
	})
	b.close()
	return err
}
