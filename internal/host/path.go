package host

import (
	"fmt"
	"path"
	"strings"
)

// CheckPath returns the error of a path for a driver. A path must be absolute and clean ("..", ".",
// "//" and a trailing slash are refused, never resolved) and must not contain a NUL byte. Any other
// byte is allowed.
func CheckPath(p string) error {
	switch {
	case !strings.HasPrefix(p, "/"):
		return fmt.Errorf("cannot use path %q: it is not absolute", p)
	case strings.ContainsRune(p, 0):
		return fmt.Errorf("cannot use path %q: it contains a NUL byte", p)
	case path.Clean(p) != p:
		return fmt.Errorf("cannot use path %q: write it as %q, without \"..\", \".\" and double slashes", p, path.Clean(p))
	}
	return nil
}

// SplitPath returns the directory that contains a checked path, and the name in it. The root is "."
// in itself.
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
