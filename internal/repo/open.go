package repo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Repo is an open repository: a git work tree, a bare git repository, or a directory without git.
// It is safe for concurrent use. Its trees read through it: Close it after their last use.
type Repo struct {
	top    string // of the work tree or plain directory; the git directory itself if bare
	prefix string
	git    *git // nil for a plain directory
	bare   bool
	limits Limits
	batch  *batch

	asking sync.Mutex
	hash   string // "sha1" or "sha256": git's object format; by the first question

	mu    sync.Mutex
	root  *os.Root          // the work tree, opened by the first WorkTree
	known map[string]string // git blob to sha256 digest
	kept  map[string][]byte // git blob to content, small ones
	keep  int64             // bytes that may still be kept

	memory *Memory // of the work tree; nil has every file read
	now    func() time.Time
}

// Content up to keepFile bytes stays in memory after it was digested, up to
// keepTotal in all: it will be read again to compile it.
const (
	keepFile  = 128 << 10
	keepTotal = 64 << 20
)

// Open opens the repository that contains the directory dir. A directory outside of any repository
// has only WorkTree. Open never writes, and runs git only when data is read. The caller must close
// it.
func Open(ctx context.Context, dir string) (*Repo, error) { return OpenWith(ctx, dir, Limits{}) }

// OpenWith is Open with limits on the amount of data that is read.
func OpenWith(ctx context.Context, dir string, limits Limits) (*Repo, error) {
	abs, err := realDirectory(dir)
	if err != nil {
		return nil, err
	}
	r := &Repo{top: abs, prefix: ".", limits: limits.filled(), known: map[string]string{}, kept: map[string][]byte{},
		keep: keepTotal}
	gitDir, workTree, err := findRepository(abs)
	if err != nil || gitDir == "" {
		return r, err
	}
	exe, err := exec.LookPath("git")
	if err != nil {
		return nil, fmt.Errorf("cannot open repository %q: git is not installed; run: apt-get install git", abs)
	}
	if err := checkOwner(exe, gitDir, workTree); err != nil {
		return nil, err
	}
	r.git = &git{exe: exe, gitDir: gitDir, workTree: workTree, silence: r.limits.Silence}
	r.bare = workTree == ""
	if r.bare {
		r.top = gitDir
	} else if r.top = workTree; abs != workTree {
		r.prefix = filepath.ToSlash(strings.TrimPrefix(strings.TrimPrefix(abs, workTree), "/"))
	}
	r.batch = &batch{git: *r.git}
	return r, ctx.Err()
}

// ready runs git for the first time: it checks that git accepts the repository, and reads its
// object format.
func (r *Repo) ready(ctx context.Context) error {
	r.asking.Lock()
	defer r.asking.Unlock()
	if r.git == nil || r.hash != "" {
		return nil
	}
	hash, err := r.git.output(ctx, "rev-parse", "--show-object-format")
	if err != nil {
		return fmt.Errorf("cannot open repository %q: %w", r.top, err)
	}
	r.hash = strings.TrimSpace(hash)
	return nil
}

// Close ends the git process behind the repository. Trees of the repository fail afterwards, except
// for content in memory.
func (r *Repo) Close() error {
	if r.batch != nil {
		r.batch.close()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.root == nil {
		return nil
	}
	return r.root.Close()
}

// Top returns the absolute directory that tree paths are relative to. For a bare repository it is
// the repository's own directory.
func (r *Repo) Top() string { return r.top }

// Prefix is the directory that was opened, relative to Top: "." for the top.
func (r *Repo) Prefix() string { return r.prefix }

// IsGit reports whether there are revisions; a plain directory has none.
func (r *Repo) IsGit() bool { return r.git != nil }

// IsBare reports whether the repository has no work tree.
func (r *Repo) IsBare() bool { return r.bare }

func realDirectory(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf(
			"cannot open repository %q: there is no such directory; name one with -C, or create one: fettle init %s", dir, dir)
	}
	if err != nil {
		return "", fmt.Errorf("cannot open repository %q: %w", dir, err)
	}
	info, err := os.Stat(abs)
	if err != nil {
		return "", fmt.Errorf("cannot open repository %q: %w", dir, err)
	}
	if !info.IsDir() {
		return "", fmt.Errorf("cannot open repository %q: it is a file; name its directory: -C %s", dir, filepath.Dir(dir))
	}
	return abs, nil
}

// findRepository searches for a repository at dir and above. workTree is "" for a bare repository.
// gitDir is "" if there is none. It does not use git's search. core.worktree of a repository can
// thus point nowhere else, and a bare repository inside a tree counts only if it is named
// explicitly.
func findRepository(dir string) (gitDir, workTree string, err error) {
	if isGitDir(dir) {
		return dir, "", nil
	}
	for d := dir; ; d = filepath.Dir(d) {
		dot := filepath.Join(d, ".git")
		info, err := os.Stat(dot)
		switch {
		case err == nil && info.IsDir() && isGitDir(dot):
			return dot, d, nil
		case err == nil && info.Mode().IsRegular():
			gitDir, err := readGitFile(dot)
			return gitDir, d, err
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return "", "", fmt.Errorf("cannot open repository %q: %w", d, err)
		}
		if d == filepath.Dir(d) {
			return "", "", nil
		}
	}
}

// isGitDir is git's own test, as far as it needs no parsing. The directory of a linked work tree
// has a commondir file instead of objects and refs.
func isGitDir(dir string) bool {
	has := func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	}
	return has("HEAD") && (has("objects") && has("refs") || has("commondir"))
}

// readGitFile follows the file that replaces .git in linked work trees and submodules: "gitdir:
// PATH".
func readGitFile(file string) (string, error) {
	text, err := readShort(file)
	if err != nil {
		return "", fmt.Errorf("cannot open repository: %w", err)
	}
	target, ok := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), "gitdir: ")
	if !ok || len(target) > maxPath {
		return "", fmt.Errorf("cannot open repository: %q is neither git's directory nor a pointer to one", file)
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(file), target)
	}
	target = filepath.Clean(target)
	if !isGitDir(target) {
		return "", fmt.Errorf(
			"cannot open repository: %q points to %q, which is not a git repository; was it moved? Try: git worktree repair",
			file, target)
	}
	return target, nil
}

// readShort reads a file that holds one path.
func readShort(file string) ([]byte, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, 2*maxPath))
}
