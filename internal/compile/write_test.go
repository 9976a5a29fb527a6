package compile_test

import (
	"encoding/json"
	"slices"
	"strings"
)

func quoted(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s)
	return strings.TrimSuffix(b.String(), "\n")
}

// escapedText is a plain text as a text of the language.
func escapedText(s string) string {
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(s)
}

// jsonWriter writes bodies as lists of mappings with one pair each, so that the
// order of blocks is kept.
type jsonWriter struct{ strings.Builder }

func (w *jsonWriter) body(in string, list []entry) {
	for i, e := range list {
		w.WriteString([]string{",\n", "[\n"}[b2i(i == 0)] + in + "{" + quoted(e.name) + ": ")
		if e.label != nil {
			w.WriteString("{" + quoted(escapedText(*e.label)) + ": ")
		}
		w.member(in+"  ", e)
		w.WriteString(strings.Repeat("}", 1+b2i(e.label != nil)))
	}
	if len(list) == 0 {
		w.WriteString("[")
	}
	w.WriteString("]")
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// holdsBlocks tells which blocks are written as lists.
func holdsBlocks(name string) bool {
	return slices.Contains([]string{"target", "role", "target_group", "define", "block", "variable", "rollout", "cluster",
		"environment", "scope", "task"}, name)
}

func (w *jsonWriter) member(in string, e entry) {
	if list, ok := e.value.([]entry); ok && holdsBlocks(e.name) && e.label != nil {
		w.body(in, list)
		return
	}
	w.value(in, e.value)
}

func (w *jsonWriter) value(in string, v any) {
	switch v := v.(type) {
	case []entry:
		w.WriteString("{")
		for i, e := range v {
			w.WriteString(strings.Repeat(",", b2i(i > 0)) + "\n" + in + "  " + quoted(e.name) + ": ")
			w.value(in+"  ", e.value)
		}
		w.WriteString("}")
	case []any:
		w.WriteString("[")
		for i, e := range v {
			w.WriteString(strings.Repeat(", ", b2i(i > 0)))
			w.value(in, e)
		}
		w.WriteString("]")
	default:
		w.WriteString(scalar(v))
	}
}

func scalar(v any) string {
	switch v := v.(type) {
	case plain:
		return quoted(escapedText(string(v)))
	case unquoted:
		return quoted(string(v))
	case raw:
		return string(v)
	}
	return quoted(v.(string))
}

func asJSON(list []entry) string {
	w := &jsonWriter{}
	w.body("", list)
	return w.String() + "\n"
}

// yamlWriter writes block style, with long texts as literal blocks.
type yamlWriter struct{ strings.Builder }

func asYAML(list []entry) string {
	w := &yamlWriter{}
	w.WriteString("# made of HCL\n")
	w.body("", list)
	return w.String()
}

func (w *yamlWriter) body(in string, list []entry) {
	for _, e := range list {
		w.WriteString(in + "- ")
		w.key(e.name)
		if e.label == nil {
			w.value(in+"    ", e.value)
			continue
		}
		w.WriteString("\n" + in + "    ")
		w.key(escapedText(*e.label))
		members := e.value.([]entry)
		if holdsBlocks(e.name) && len(members) > 0 {
			w.WriteString("\n")
			w.body(in+"      ", members)
			continue
		}
		w.value(in+"      ", members)
	}
}

// key writes a key plain where YAML reads it as the same text.
func (w *yamlWriter) key(s string) {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz_-./") == "" && !strings.HasPrefix(s, "-") && s != "null" &&
		s != "." {
		w.WriteString(s + ":")
		return
	}
	w.WriteString(quoted(s) + ":")
}

func (w *yamlWriter) value(in string, v any) {
	switch v := v.(type) {
	case []entry:
		if len(v) == 0 {
			w.WriteString(" {}\n")
			return
		}
		w.WriteString("\n")
		for _, e := range v {
			w.WriteString(in)
			w.key(e.name)
			w.value(in+"  ", e.value)
		}
	case []any:
		j := &jsonWriter{}
		j.value("  "+in, v)
		w.WriteString(" " + j.String() + "\n")
	case plain:
		w.text(in, escapedText(string(v)))
	case unquoted:
		w.text(in, string(v))
	case raw:
		w.WriteString(" " + string(v) + "\n")
	case string:
		w.text(in, v)
	}
}

// text writes a text of several lines as a literal block where that can hold it.
func (w *yamlWriter) text(in, s string) {
	lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	ends := strings.HasSuffix(s, "\n") && !strings.HasSuffix(s, "\n\n")
	if len(lines) < 2 && !ends || strings.HasPrefix(s, " ") || strings.HasPrefix(s, "\n") ||
		strings.HasSuffix(s, "\n\n") || strings.Trim(s, "\n") == "" || strings.ContainsAny(s, "\r\t\u00a0\u2028") {
		w.WriteString(" " + quoted(s) + "\n")
		return
	}
	w.WriteString([]string{" |-\n", " |\n"}[b2i(ends)])
	for _, l := range lines {
		w.WriteString(strings.TrimRight(in+"  "+l, "\n") + "\n")
	}
}
