package document

import (
	"errors"
	"regexp"
	"strings"
	"sync"

	"fettle.dev/fettle/internal/step"
)

// iniSyntax is keys and values below headers in brackets, as in systemd, PHP, Samba, git and many
// more. A value is the text after the first = (or, if there is none, the first colon). A backslash
// continues it on the next line. Comments are lines that begin with # or ;.
type iniSyntax struct{}

func (iniSyntax) parse(text string) (*node, error) {
	if strings.ContainsRune(text, 0) {
		return nil, errors.New("it contains a NUL byte")
	}
	root := &node{kind: mapping, section: &section{last: -1, first: true}}
	in, at := root, 0
	more := false // the line continues the previous value
	for line := range strings.Lines(text) {
		begin := at
		at += len(line)
		plain := strings.TrimRight(line, "\r\n")
		trimmed := strings.TrimSpace(plain)
		switch {
		case more:
			it := &in.items[len(in.items)-1]
			it.end = begin + len(strings.TrimRight(plain, " \t"))
			v := it.value
			v.end = it.end
			v.scalar = strings.TrimSpace(text[v.start:v.end])
			in.section.last = it.end
			more = strings.HasSuffix(plain, "\\")
		case trimmed == "" || trimmed[0] == '#' || trimmed[0] == ';':
		case iniSyntax{}.isHeader(trimmed):
			in = iniSection(root, trimmed[1:strings.LastIndexByte(trimmed, ']')], begin, begin+len(plain))
		default:
			more = iniLine(in, plain, begin) && strings.HasSuffix(plain, "\\")
		}
	}
	return root, nil
}

// iniSection returns the section of a name; a repeated header continues its section.
func iniSection(root *node, name string, begin, end int) *node {
	for _, it := range root.items {
		if it.key == name && it.value.kind == mapping {
			it.value.section.end = end
			it.value.section.last = -1
			return it.value
		}
	}
	n := &node{kind: mapping, start: begin, end: end, section: &section{header: begin, end: end, last: -1}}
	root.items = append(root.items, item{key: name, start: begin, end: end, value: n})
	return n
}

// iniLine takes a key and its value in; other lines are left alone.
func iniLine(in *node, line string, begin int) bool {
	sep := strings.IndexByte(line, '=')
	if sep < 0 {
		sep = strings.IndexByte(line, ':')
	}
	if sep < 0 || strings.TrimSpace(line[:sep]) == "" {
		return false
	}
	start := begin + sep + 1
	value := line[sep+1:]
	lead := len(value) - len(strings.TrimLeft(value, " \t"))
	value = strings.TrimSpace(value)
	v := &node{kind: scalar, start: start + lead, end: start + lead + len(value), scalar: value}
	key := len(line) - len(strings.TrimLeft(line, " \t"))
	in.items = append(in.items, item{key: strings.TrimSpace(line[:sep]), start: begin + key, end: v.end, value: v})
	in.section.last = v.end
	return true
}

func (iniSyntax) canonical(value string) (string, error) {
	if strings.ContainsAny(value, "\n\r\x00") {
		return "", errors.New("its value has a line break, which an INI file cannot represent")
	}
	if strings.HasSuffix(strings.TrimSpace(value), "\\") {
		return "", errors.New("its value ends in a backslash, which would join it with the next line")
	}
	return strings.TrimSpace(value), nil
}

func (iniSyntax) write(canonical string, _ *node) string { return canonical }

var iniSeparator = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[^=:]*?([ \t]*[=:][ \t]*)`) })

func (iniSyntax) line(names []string, source, like string) string {
	sep := "="
	if m := iniSeparator().FindStringSubmatch(like); m != nil {
		sep = m[1]
	}
	return names[0] + sep + source
}

func (iniSyntax) header(names []string) string { return "[" + names[0] + "]" }

func (iniSyntax) isHeader(line string) bool {
	return strings.HasPrefix(line, "[") && strings.Contains(line, "]")
}

func (s iniSyntax) insert(text string, root *node, trail []hop, key []step.KeyPart, source string) (string, error) {
	name := key[len(key)-1].Name
	if len(key) > 2 || key[0].Entry >= 0 || key[len(key)-1].Entry >= 0 || strings.ContainsAny(name, "=:") {
		return "", errors.New("an INI file has keys, and sections with keys: write KEY or SECTION.KEY, without : and =")
	}
	switch {
	case len(key) == 1:
		return insertLine(s, text, root.section, names(key), source), nil
	case len(trail) == 1:
		return insertLine(s, text, trail[0].item().value.section, names(key[1:]), source), nil
	}
	return appendSection(s, text, names(key[:1]), name, source, s.anyLine(text, root)), nil
}

// anyLine is the last line with a value in the file, which new ones are like.
func (iniSyntax) anyLine(text string, root *node) string {
	last := root.section.last
	for _, it := range root.items {
		if it.value.section != nil {
			last = max(last, it.value.section.last)
		}
	}
	if last < 0 {
		return ""
	}
	return text[lineStart(text, last):lineEnd(text, last)]
}

func (s iniSyntax) cuts(text string, _ *node, at hop) []cut {
	it := at.item()
	if it.value.kind == mapping {
		return sectionCuts(s, text, it.value)
	}
	return lineCuts(text, it.start, it.end)
}
