package api

import (
	"errors"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

var errPath = errors.New("cannot use this path: remove empty and dotted segments, and unnecessary escapes")

// segments splits a path and unescapes its segments. It accepts only the spelling that
// url.PathEscape returns.
func segments(u *url.URL) ([]string, error) {
	escaped := u.EscapedPath()
	if !strings.HasPrefix(escaped, "/") || len(escaped) > 2048 {
		return nil, errPath
	}
	parts := strings.Split(escaped[1:], "/")
	for i, p := range parts {
		plain, err := url.PathUnescape(p)
		bad := func(r rune) bool { return unicode.IsControl(r) || r == '\\' || r == utf8.RuneError }
		if err != nil || plain == "" || plain == "." || plain == ".." || strings.ContainsFunc(plain, bad) ||
			url.PathEscape(plain) != p {
			return nil, errPath
		}
		parts[i] = plain
	}
	return parts, nil
}
