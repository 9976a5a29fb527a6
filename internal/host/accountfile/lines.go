package accountfile

import (
	"slices"
	"strconv"
	"strings"
)

// lines is a file in lines that keep their newlines.
type lines []string

func splitLines(content string) lines {
	l := strings.SplitAfter(content, "\n")
	if l[len(l)-1] == "" {
		l = l[:len(l)-1]
	}
	return l
}

func (l lines) String() string { return strings.Join(l, "") }

// named reports whether a line is the entry of a name.
func named(line, name string) bool { return strings.HasPrefix(line, name+":") }

// take returns the entries of a name without newlines, and the line number of each, from 1.
func (l lines) take(name string) (text string, at string) {
	var found, places []string
	for i, line := range l {
		if named(line, name) {
			found = append(found, strings.TrimSuffix(line, "\n"))
			places = append(places, strconv.Itoa(i+1))
		}
	}
	return strings.Join(found, "\n"), strings.Join(places, ",")
}

// first is the first entry of a name in fields.
func (l lines) first(name string) ([]string, bool) {
	for _, line := range l {
		if named(line, name) {
			return fields(line), true
		}
	}
	return nil, false
}

func fields(line string) []string { return strings.Split(strings.TrimSuffix(line, "\n"), ":") }

// without leaves the entries of a name out.
func (l lines) without(name string) lines {
	return slices.DeleteFunc(slices.Clone(l), func(line string) bool { return named(line, name) })
}

// with puts entries back at their places, or as near as the file allows. It
// is the inverse of without.
func (l lines) with(name, text, at string) lines {
	out := l.without(name)
	if text == "" {
		return out
	}
	places := strings.Split(at, ",")
	for i, line := range strings.Split(text, "\n") {
		place := len(out)
		if i < len(places) {
			if n, err := strconv.Atoi(places[i]); err == nil && n >= 1 {
				place = min(n-1, len(out))
			}
		}
		if place == len(out) && place > 0 && !strings.HasSuffix(out[place-1], "\n") {
			out[place-1] += "\n"
		}
		out = slices.Insert(out, place, line+"\n")
	}
	return out
}

// set replaces one field of a name's first entry.
func (l lines) set(name string, field int, value string) lines {
	out := slices.Clone(l)
	for i, line := range out {
		if f := fields(line); named(line, name) && field < len(f) {
			f[field] = value
			out[i] = strings.Join(f, ":") + line[len(strings.TrimSuffix(line, "\n")):]
			break
		}
	}
	return out
}

// members splits a list of names.
func members(list string) []string {
	if list == "" {
		return []string{}
	}
	return strings.Split(list, ",")
}
