package document

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"fettle.dev/fettle/internal/step"
)

func (yamlSyntax) canonical(value string) (string, error) { return canonicalJSON(value) }

func (yamlSyntax) write(canonical string, n *node) string {
	v := fromJSON(canonical)
	text := spaced(v)
	if v.kind == scalar && strings.HasPrefix(text, `"`) {
		text = yamlText(canonical)
	}
	if n == nil || n.lead {
		return " " + text
	}
	return text
}

// plainYAML are texts that need no quotes in any place.
var (
	plainYAML = sync.OnceValue(
		func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z/_][A-Za-z0-9_./-]*( [A-Za-z0-9_./-]+)*$`) })
	yamlWords = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^(true|false|yes|no|on|off|null|y|n|_|[.]?nan|[.]?inf)$`)
	})
)

func yamlText(canonical string) string {
	var out string
	if s, err := strconv.Unquote(canonical); err == nil {
		out = s
	}
	if plainYAML().MatchString(out) && !yamlWords().MatchString(out) {
		return out
	}
	return canonical
}

func yamlKey(name string) string { return yamlText(quote(name)) }

func (yamlSyntax) insert(text string, root *node, trail []hop, key []step.KeyPart, source string) (string, error) {
	m, rest := root, key[len(trail):]
	if len(trail) > 0 {
		m = trail[len(trail)-1].item().value
	}
	for _, it := range m.items { // a key without a value takes one
		if it.key == rest[0].Name && it.value.empty && len(rest) > 1 && it.value.lead {
			return text[:it.value.start] + yamlBelow(rest[1:], source, m.indent) + text[it.value.end:], nil
		}
	}
	switch {
	case m.flow && len(m.items) == 0:
		return text[:m.open] + yamlFlow(rest, source) + text[m.open:], nil
	case m.flow:
		end := m.items[len(m.items)-1].end
		return text[:end] + ", " + yamlFlow(rest, source) + text[end:], nil
	case len(m.items) == 0:
		made := yamlBlock(rest, source, 0)
		if text == "" || strings.HasSuffix(text, "\n") {
			return text + made + "\n", nil
		}
		return text + "\n" + made, nil
	}
	end := lineEnd(text, m.items[len(m.items)-1].end)
	return text[:end] + "\n" + strings.Repeat(" ", m.indent) + yamlBlock(rest, source, m.indent) + text[end:], nil
}

// lineEnd is the end of a place's line, without its break.
func lineEnd(text string, at int) int {
	end := len(text)
	if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
		end = at + i
	}
	return end - (len(text[at:end]) - len(strings.TrimRight(text[at:end], "\r")))
}

func lineStart(text string, at int) int { return 1 + strings.LastIndexByte(text[:at], '\n') }

// yamlBlock is a key and its value, in lines that are so far in.
func yamlBlock(key []step.KeyPart, source string, indent int) string {
	if len(key) == 1 {
		return yamlKey(key[0].Name) + ":" + source
	}
	return yamlKey(key[0].Name) + ":" + yamlBelow(key[1:], source, indent)
}

// yamlBelow is a mapping below a key whose line is so far in.
func yamlBelow(key []step.KeyPart, source string, indent int) string {
	return "\n" + strings.Repeat(" ", indent+2) + yamlBlock(key, source, indent+2)
}

func yamlFlow(key []step.KeyPart, source string) string {
	if len(key) == 1 {
		return yamlKey(key[0].Name) + ":" + source
	}
	return yamlKey(key[0].Name) + ": {" + yamlFlow(key[1:], source) + "}"
}

func (yamlSyntax) cuts(text string, root *node, at hop) []cut {
	it := at.item()
	value := cut{it.value.start, it.value.end, ""} // a value that an empty key received
	if at.in.flow {
		return append(flowCuts(text, at), value)
	}
	begin, end := lineStart(text, it.start), lineEnd(text, it.end)
	next := min(len(text), end+1)
	if strings.HasPrefix(text[end:], "\r\n") {
		next = end + 2
	}
	var ways []cut
	if strings.TrimSpace(text[begin:it.start]) == "" {
		ways = append(ways, cut{begin, next, ""})
		if begin > 0 {
			ways = append(ways, cut{begin - 1, end, ""}, cut{begin - 1, it.end, ""})
		}
	} else if n := at.at + 1; n < len(at.in.items) { // - key: value
		ways = append(ways, cut{it.start, at.in.items[n].start, ""})
	}
	if len(at.in.items) == 1 { // an empty mapping has brackets
		ways = append(ways, cut{at.in.start, it.end, " {}"}, cut{it.start, it.end, "{}"})
	}
	return append(ways, value)
}
