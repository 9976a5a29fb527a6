package host

import (
	"fmt"
	"path"
	"strings"
)

// CheckPath tells what is wrong with a path that a driver is given: it is
// absolute, clean ("..", ".", "//" and a trailing slash are refused, never
// resolved) and holds no NUL byte. Any other byte is allowed.
func CheckPath(p string) error {
	switch {
	case !strings.HasPrefix(p, "/"):
		return fmt.Errorf("cannot use path %q: it is not absolute", p)
	case strings.ContainsRune(p, 0):
		return fmt.Errorf("cannot use path %q: it holds a NUL byte", p)
	case path.Clean(p) != p:
		return fmt.Errorf("cannot use path %q: write it as %q, without \"..\", \".\" and double slashes", p, path.Clean(p))
	}
	return nil
}

// SplitPath gives the directory that holds a checked path and the name in it.
// The root is "." in itself.
func SplitPath(p string) (dir, base string) {
	if p == "/" {
		return "/", "."
	}
	i := strings.LastIndexByte(p, '/')
	if i == 0 {
		return "/", p[1:]
	}
	return p[:i], p[i+1:]
}
