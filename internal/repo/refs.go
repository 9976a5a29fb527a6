package repo

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// refs reads the names of commits from git's own files, as far as the result certainly equals
// git's. It follows no reference except HEAD, once.
type refs struct {
	gitDir, common string // of linked work trees; otherwise gitDir
	packed         []byte
	known          bool // packed was read
}

// maxPacked is how much of packed-refs is read, in bytes.
const maxPacked = 16 << 20

// openRefs finds the directory that linked work trees share.
func openRefs(gitDir string) (*refs, bool) {
	file := filepath.Join(gitDir, "commondir")
	text, ok := readRegular(file, maxPath)
	if !ok {
		s, err := lstamp(file)
		return &refs{gitDir: gitDir, common: gitDir}, err == nil && s == stamp{}
	}
	common := strings.TrimRight(string(text), "\n")
	if common == "" || strings.ContainsAny(common, "\n\r\x00") {
		return nil, false
	}
	if !filepath.IsAbs(common) {
		common = filepath.Join(gitDir, common)
	}
	return &refs{gitDir: gitDir, common: common}, true
}

// head is the branch that is checked out, as refs/heads/NAME; "" when HEAD
// holds a commit itself.
func (s *refs) head() (full string, ok bool) {
	text, ok := readRegular(filepath.Join(s.gitDir, "HEAD"), maxPath)
	if !ok {
		return "", false
	}
	line := strings.TrimSuffix(string(text), "\n")
	if isObjectID(line) {
		return "", true
	}
	full, ok = strings.CutPrefix(line, "ref: ")
	return full, ok && strings.HasPrefix(full, "refs/heads/") && plainRef(full)
}

// plainRef allows names without special meaning in git.
func plainRef(name string) bool {
	for i := range len(name) {
		c := name[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("/._-", c) >= 0) {
			return false
		}
	}
	for _, part := range strings.Split(name, "/") {
		if part == "" || part[0] == '.' || part[0] == '-' || part[len(part)-1] == '.' || strings.HasSuffix(part, ".lock") ||
			strings.Contains(part, "..") {
			return false
		}
	}
	return len(name) <= maxName
}

// namesakes returns other places where git looks for a name.
func namesakes(name string) []string {
	return []string{"refs/" + name, "refs/tags/" + name, "refs/heads/" + name, "refs/remotes/" + name,
		"refs/remotes/" + name + "/HEAD"}
}

// resolve resolves rev if it has only one possible meaning: the object, and the branch if it is
// one. ok is false if git must decide.
func (s *refs) resolve(rev string) (id, branch string, ok bool) {
	if !plainRef(rev) || strings.HasPrefix(rev, "worktrees/") || strings.HasPrefix(rev, "main-worktree/") {
		return "", "", false
	}
	full := ""
	for _, name := range append([]string{rev}, namesakes(rev)...) {
		found, ok := s.read(name)
		switch {
		case !ok || found != "" && full != "":
			return "", "", false
		case found != "":
			id, full = found, name
		}
	}
	switch {
	case isHex(rev):
		return rev, "", isObjectID(rev) && full == ""
	case full == "HEAD":
		if full, ok = s.head(); !ok {
			return "", "", false
		}
	}
	if strings.HasPrefix(full, "refs/heads/") || strings.HasPrefix(full, "refs/remotes/") {
		branch = shortRef(full)
	}
	return id, branch, id != ""
}

// read returns the object of a name, "" if the name does not exist. ok is false for any other
// content. A loose file has precedence over the packed refs. It is read first, because git writes
// the packed refs first.
func (s *refs) read(name string) (id string, ok bool) {
	if name == "HEAD" {
		full, ok := s.head()
		if full == "" || !ok {
			text, _ := readRegular(filepath.Join(s.gitDir, "HEAD"), maxPath)
			id = strings.TrimSuffix(string(text), "\n")
			return id, ok && isObjectID(id)
		}
		return s.read(full)
	}
	dir := s.gitDir
	if shared := strings.HasPrefix(name, "refs/"); shared {
		dir = s.common
	}
	for _, own := range []string{"refs/bisect/", "refs/worktree/", "refs/rewritten/"} {
		if strings.HasPrefix(name, own) {
			return "", false
		}
	}
	file := filepath.Join(dir, name)
	st, err := lstamp(file)
	switch {
	case err != nil:
		return "", false
	case st == stamp{} || st.is(unix.S_IFDIR) && dir == s.common && strings.HasPrefix(name, "refs/"):
		return s.readPacked(name)
	}
	text, ok := readRegular(file, maxPath)
	id = strings.TrimRight(string(text), "\n")
	return id, ok && isObjectID(id)
}

// readPacked looks a name up in the file that holds many.
func (s *refs) readPacked(name string) (id string, ok bool) {
	if !s.known {
		if s.packed, ok = readRegular(filepath.Join(s.common, "packed-refs"), maxPacked); !ok {
			if _, err := os.Lstat(filepath.Join(s.common, "packed-refs")); !os.IsNotExist(err) {
				return "", false
			}
		}
		s.known = true
	}
	line := []byte(" " + name + "\n")
	i := bytes.Index(s.packed, line)
	if i < 0 {
		return "", true
	}
	start := bytes.LastIndexByte(s.packed[:i], '\n') + 1
	id = string(s.packed[start:i])
	return id, isObjectID(id) && bytes.Count(s.packed, line) == 1
}
