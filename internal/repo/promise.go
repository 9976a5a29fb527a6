package repo

import (
	"bytes"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// promise makes the head of a record that is valid as long as its files are unchanged. ok is false
// if a file changed too shortly before began, or if the answers of the repository also depend on
// other files.
func (r *Repo) promise(began time.Time, info Revision, asked string) (h lookHead, ok bool) {
	h = lookHead{Look: true, Origin: origin{r.top, r.git.gitDir, program(r.git.exe), r.hash}, Asked: asked,
		Revision: info, Limits: r.limits}
	names, ok := r.gitFiles(asked == "")
	for _, name := range names {
		f, settled := settledFile(name, began)
		if !settled {
			return lookHead{}, false
		}
		h.Git = append(h.Git, f)
	}
	return h, ok
}

// program returns the path of git, with links resolved.
func program(exe string) string {
	if real, err := filepath.EvalSymlinks(exe); err == nil {
		return real
	}
	return exe
}

// settledFile returns a regular file, or its absence, that has been unchanged since before began.
// For an absence, only the parent directory can show that.
func settledFile(name string, began time.Time) (gitFile, bool) {
	s, err := lstamp(name)
	if err != nil || s != (stamp{}) && (!s.is(unix.S_IFREG) || !s.settled(began)) {
		return gitFile{}, false
	}
	dir := s
	for d := name; dir == (stamp{}) && d != "/"; {
		d = filepath.Dir(d)
		if dir, err = lstamp(d); err != nil {
			return gitFile{}, false
		}
	}
	return gitFile{name, s.append(nil)}, dir.settled(began)
}

// gitFiles returns the files that determine git's answers: all of them for a work tree, or the
// subset for a commit whose hash is known. It omits the content of objects, which is named by its
// digest.
func (r *Repo) gitFiles(work bool) (names []string, ok bool) {
	refs, ok := openRefs(r.git.gitDir)
	if !ok {
		return nil, false
	}
	common := refs.common
	names = []string{program(r.git.exe), filepath.Join(refs.gitDir, "commondir"), filepath.Join(common, "config"),
		filepath.Join(refs.gitDir, "config.worktree")}
	if !plainConfig(names[2]) || !plainConfig(names[3]) {
		return nil, false
	}
	if !work {
		return names, true
	}
	full, ok := refs.head()
	if !ok {
		return nil, false
	}
	if full != "" {
		names = append(names, filepath.Join(common, full))
	}
	for _, name := range append([]string{"HEAD", "index", "info/exclude", "info/sparse-checkout"}, namesakes("HEAD")...) {
		names = append(names, filepath.Join(refs.gitDir, name))
	}
	if common != refs.gitDir {
		for _, name := range append([]string{"info/exclude"}, namesakes("HEAD")...) {
			names = append(names, filepath.Join(common, name))
		}
	}
	return append(names, filepath.Join(common, "packed-refs"), filepath.Join(common, "objects/info/alternates")), true
}

// plainConfig reports whether a configuration includes no other file, and branches are files. The
// file can be missing.
func plainConfig(name string) bool {
	text, ok := readRegular(name, 1<<20)
	if !ok {
		s, err := lstamp(name)
		return err == nil && s == stamp{}
	}
	text = bytes.ToLower(text)
	for _, word := range []string{"include", "refstorage"} {
		if strings.Contains(string(text), word) {
			return false
		}
	}
	return true
}
