package judge

import (
	"fmt"
	"path"
	"strconv"
	"strings"
)

// Step is one line of a list.
type Step struct {
	Line string
	Verb string
	Args []string
	Attr map[string]string
}

// List is a list of steps.
type List []Step

// Parse parses a list: words separated by blanks. KEY=VALUE is an attribute, whose value can be quoted
// as in Go.
func Parse(text string) (List, error) {
	var out List
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		words, err := split(line)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", line, err)
		}
		s := Step{Line: line, Verb: words[0], Attr: map[string]string{}}
		for _, w := range words[1:] {
			if k, v, ok := strings.Cut(w, "="); ok && len(k) > 0 && strings.Trim(k, "abcdefghijklmnopqrstuvwxyz_") == "" {
				if k == "on" { // the only key that can be repeated
					v = strings.TrimSpace(s.Attr[k] + " " + v)
				}
				s.Attr[k] = v
			} else {
				s.Args = append(s.Args, w)
			}
		}
		out = append(out, s)
	}
	return out, nil
}

func split(line string) ([]string, error) {
	var words []string
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		i := strings.IndexAny(line, " \"")
		switch {
		case i < 0:
			return append(words, line), nil
		case line[i] == ' ':
			words, line = append(words, line[:i]), line[i:]
		default:
			q, err := strconv.QuotedPrefix(line[i:])
			if err != nil {
				return nil, err
			}
			v, err := strconv.Unquote(q)
			if err != nil {
				return nil, err
			}
			words, line = append(words, line[:i]+v), line[i+len(q):]
		}
	}
	return words, nil
}

// Path returns the path of a step, or "" for a command or an action.
func (s Step) Path() string {
	switch s.Verb {
	case "EXEC", "ACT":
		return ""
	case "COPY", "LINK":
		return s.Args[1]
	}
	return s.Args[0]
}

// whole reports whether the step determines the whole object at its path and below.
func (s Step) whole() bool {
	return s.Verb == "COPY" || s.Verb == "LINK" || s.Verb == "RM" || s.Attr["purge"] == "true"
}

// replacedBy reports whether two steps are for the whole object at one path.
func (s Step) replacedBy(o Step) bool {
	object := func(x Step) bool {
		return x.Verb == "COPY" || x.Verb == "LINK" || x.Verb == "MKDIR" || x.Verb == "RM"
	}
	return object(s) && object(o) && s.Path() == o.Path()
}

// Reaches reports whether applying or removing the list can change a path.
func (l List) Reaches(p string) bool {
	for _, s := range l {
		if q := s.Path(); q != "" && (p == q || s.whole() && below(p, q)) {
			return true
		}
	}
	return false
}

// decides returns true if the list defines the content of a path. The purge of a directory
// does not include the content of a directory in it that has its own step.
func (l List) decides(p string) bool {
	for _, s := range l {
		q := s.Path()
		if q == "" || p != q && !(s.whole() && below(p, q)) {
			continue
		}
		if p == q || s.Attr["purge"] != "true" || !l.declares(childOn(q, p)) {
			return true
		}
	}
	return false
}

// childOn returns the path directly in dir that contains p.
func childOn(dir, p string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(p, dir+"/"), "/")
	return path.Join(dir, name)
}

// forbids reports whether a step or a purge requires that a path is absent.
func (l List) forbids(p string) bool {
	for _, s := range l {
		q := s.Path()
		if q == p && s.Verb == "RM" || s.Attr["purge"] == "true" && parentOf(q, p) && !l.declares(p) {
			return true
		}
	}
	return false
}

// declares reports whether the list has a step for a path or below it.
func (l List) declares(p string) bool {
	for _, s := range l {
		if q := s.Path(); q != "" && below(q, p) {
			return true
		}
	}
	return false
}

// removesAbove reports whether the list may remove a directory above a path as a whole.
func (l List) removesAbove(p string) bool {
	for _, s := range l {
		q := s.Path()
		if q != "" && s.whole() && p != q && below(p, q) && (s.Attr["purge"] != "true" || path.Dir(p) != q) {
			return true
		}
	}
	return false
}

// parentOf reports whether p is directly in dir.
func parentOf(dir, p string) bool { return path.Dir(p) == dir && p != dir }

// Purges reports whether a path is in a directory that the list purges.
func (l List) Purges(p string) bool {
	for _, s := range l {
		if s.Attr["purge"] == "true" && below(p, s.Path()) {
			return true
		}
	}
	return false
}
