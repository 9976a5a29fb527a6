package document

import (
	"errors"
	"strings"

	"fettle.dev/fettle/internal/step"
)

func (tomlSyntax) canonical(value string) (string, error) {
	c, err := canonicalJSON(value)
	if err == nil && hasNull(fromJSON(c)) {
		return "", errors.New(
			"its value is or contains null, which TOML cannot represent; use ensure=absent, or omit the key")
	}
	return c, err
}

func hasNull(n *node) bool {
	if n.kind == scalar {
		return n.scalar == "null"
	}
	for _, it := range n.items {
		if hasNull(it.value) {
			return true
		}
	}
	return false
}

func (tomlSyntax) write(canonical string, _ *node) string { return tomlValue(fromJSON(canonical)) }

func tomlValue(n *node) string {
	if n.kind == scalar {
		return strings.ReplaceAll(n.scalar, "\x7f", `\u007f`)
	}
	parts := make([]string, len(n.items))
	for i, it := range n.items {
		if parts[i] = tomlValue(it.value); n.kind == mapping {
			parts[i] = tomlKey(it.key) + " = " + parts[i]
		}
	}
	switch {
	case n.kind == sequence:
		return "[" + strings.Join(parts, ", ") + "]"
	case len(parts) == 0:
		return "{}"
	}
	return "{ " + strings.Join(parts, ", ") + " }"
}

func tomlKey(name string) string {
	if bareTOML().FindString(name) == name && name != "" {
		return name
	}
	return strings.ReplaceAll(quote(name), "\x7f", `\u007f`)
}

func tomlKeys(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = tomlKey(n)
	}
	return strings.Join(out, ".")
}

func (tomlSyntax) line(names []string, source, _ string) string {
	return tomlKeys(names) + " = " + source
}

func (tomlSyntax) header(names []string) string { return "[" + tomlKeys(names) + "]" }

func (tomlSyntax) isHeader(line string) bool { return strings.HasPrefix(line, "[") }

func (s tomlSyntax) insert(text string, root *node, trail []hop, key []step.KeyPart, source string) (string, error) {
	m, rest := root, names(key[len(trail):])
	if len(trail) > 0 {
		m = trail[len(trail)-1].item().value
	}
	last := len(rest) - 1
	switch {
	case m.flow:
		for i := last; i > 0; i-- {
			source = "{ " + tomlKey(rest[i]) + " = " + source + " }"
		}
		return tomlInline(text, m, tomlKey(rest[0])+" = "+source), nil
	case m.names != nil:
		sec := &section{last: m.end}
		return insertLine(s, text, sec, append(append([]string{}, m.names...), rest...), source), nil
	case last == 0 && m.section != nil:
		return insertLine(s, text, m.section, rest, source), nil
	}
	for _, p := range key {
		if p.Entry >= 0 {
			return "", errors.New("fettle cannot add a table inside an entry of a list; write it by hand")
		}
	}
	header := names(key[:len(key)-1])
	return appendSection(s, text, header, rest[last], source, ""), nil
}

func tomlInline(text string, m *node, made string) string {
	if n := len(m.items); n > 0 {
		end := m.end - 1 - len(blanksBefore(text, m.end-1))
		return text[:end] + ", " + made + text[end:]
	}
	return text[:m.open] + " " + made + " " + text[m.open:]
}

func (s tomlSyntax) cuts(text string, root *node, at hop) []cut {
	it := at.item()
	switch {
	case at.in.flow:
		ways := flowCuts(text, at)
		return append(ways, cut{at.in.open, at.in.open + len(" ") + (it.end - it.start) + len(" "), ""})
	case it.value.section != nil || it.value.implicit && it.value.names == nil:
		return sectionCuts(s, text, it.value)
	}
	ways := lineCuts(text, it.start, it.end)
	if at.in.section != nil && !at.in.section.first { // the header was added with the line
		ways = append(ways, sectionCuts(s, text, at.in)...)
	}
	return ways
}
