package repo

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The limits of a path. Linux supports no longer paths either.
const (
	maxDepth = 32   // components
	maxName  = 255  // bytes of one component
	maxPath  = 4095 // bytes of a whole path or link target
)

// pathError is an error about one path of a tree. It unwraps to fs.ErrNotExist and similar errors,
// and has its own message.
type pathError struct {
	verb, path, why string
	err             error
}

func (e *pathError) Error() string { return fmt.Sprintf("cannot %s %q: %s", e.verb, e.path, e.why) }
func (e *pathError) Unwrap() error { return e.err }

// cleanPath converts the path of a caller to the form of Entry.Path. An absolute path, or a path
// that leaves the top, is an error, even if its destination is inside the tree.
func cleanPath(verb, p string) (string, error) {
	if p == "" {
		return ".", nil
	}
	if strings.HasPrefix(p, "/") {
		return "", &pathError{verb, p, "paths in a repository are relative to its top", fs.ErrInvalid}
	}
	c := path.Clean(p)
	if c == ".." || strings.HasPrefix(c, "../") {
		return "", &pathError{verb, p, "the path leaves the tree", fs.ErrInvalid}
	}
	return c, nil
}

// InTree reports whether the symbolic link at linkPath, a path of a tree, leads to a path inside
// the tree. It resolves the target by name. Absolute targets are outside, because they depend on
// the host. Links on the path are not considered.
func InTree(linkPath, target string) bool {
	if target == "" || strings.HasPrefix(target, "/") || strings.HasPrefix(linkPath, "/") {
		return false
	}
	// Not path.Join: it would fold "a/../.." before the link's directory counts.
	depth := strings.Count(path.Clean(linkPath), "/")
	for _, part := range strings.Split(target, "/") {
		switch part {
		case "", ".":
		case "..":
			if depth--; depth < 0 {
				return false
			}
		default:
			depth++
		}
	}
	return true
}

// checkEntryPath refuses names that git, another tool or a reader of a plan could misinterpret. p
// is from a repository, so it is always shown quoted.
func checkEntryPath(p string) error {
	refuse := func(why string) error { return &pathError{"use repository entry", shorten(p), why, nil} }
	if len(p) > maxPath {
		return refuse(fmt.Sprintf("its path is longer than %d bytes", maxPath))
	}
	if !utf8.ValidString(p) {
		return refuse("its name is not UTF-8; rename it")
	}
	if strings.IndexFunc(p, unicode.IsControl) >= 0 {
		return refuse("its name contains a control character; rename it")
	}
	if strings.IndexFunc(p, turnsText) >= 0 {
		return refuse("its name contains an invisible or misleading character; rename it")
	}
	parts := strings.Split(p, "/")
	if len(parts) > maxDepth {
		return refuse(fmt.Sprintf("it is more than %d directories deep", maxDepth))
	}
	for _, part := range parts {
		if why := checkName(part); why != "" {
			return refuse(why)
		}
	}
	return nil
}

// checkName describes why a component is invalid, "" if it is valid.
func checkName(name string) string {
	switch {
	case name == "":
		return "a part of its path is empty"
	case name == "." || name == "..":
		return fmt.Sprintf("a part of its path is %q, which would lead out of the repository", name)
	case len(name) > maxName:
		return fmt.Sprintf("a part of its path is longer than %d bytes", maxName)
	case meansGitDir(name):
		return fmt.Sprintf("a part of its path is %q, which is, or can be confused with, the directory of git", name)
	}
	return ""
}

// meansGitDir knows ".git" in all the spellings that some file system takes
// for it: other case, ignored code points (HFS+), short names, trailing dots
// and spaces, streams (NTFS). Repositories are checked out on those as well.
func meansGitDir(name string) bool {
	name = strings.Map(dropIgnorable, name)
	name, _, _ = strings.Cut(name, ":")
	name = strings.TrimRight(name, ". ")
	return strings.EqualFold(name, ".git") || strings.EqualFold(name, "git~1")
}

// turnsText reports characters that reverse the direction of text, so that the display differs from
// the content.
func turnsText(r rune) bool {
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f || r == 0x061c
}

func dropIgnorable(r rune) rune {
	switch {
	case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
		return -1
	}
	return r
}

func shorten(s string) string {
	if len(s) > 200 {
		return s[:200] + "…"
	}
	return s
}

// ModuleOf returns the directory of the module that contains a file of the repository, and "" for
// a file outside of modules: "modules/web" for "modules/web/module.hcl:3".
func ModuleOf(file string) string {
	parts := strings.SplitN(file, "/", 3)
	if len(parts) < 3 || parts[0] != "modules" {
		return ""
	}
	return "modules/" + parts[1]
}
