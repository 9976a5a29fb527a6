package compile_test

import (
	"fmt"
	"strings"
)

// starWriter writes a program: a call for each block, and a function for the content of a block.
type starWriter struct {
	strings.Builder
	functions int
}

func asStarlark(list []entry) string {
	w := &starWriter{}
	w.calls("", list)
	return w.String()
}

func (w *starWriter) calls(in string, list []entry) {
	for _, e := range list {
		attrs, blocks := split(e)
		fn := ""
		if len(blocks) > 0 {
			w.functions++
			fn = fmt.Sprintf("inside%d", w.functions)
			w.WriteString(in + "def " + fn + "():\n")
			w.calls(in+"    ", blocks)
		}
		if _, body := e.value.([]entry); !body || e.name == "vars" || e.name == "merge" {
			value := starValue(e.value)
			if _, text := e.value.(plain); text && e.name == "lock" { // lock("NAME") declares a lock
				value = "[" + value + "]"
			}
			w.WriteString(in + e.name + "(" + value + ")\n")
			continue
		}
		var args []string
		name := e.name
		if strings.Contains(name, "-") {
			name, args = "state", []string{quoted(e.name)}
		}
		if e.label != nil {
			args = append(args, quoted(*e.label))
		}
		if fn != "" {
			args = append(args, fn)
		}
		if len(attrs) > 0 {
			args = append(args, starArgs(in, attrs))
		}
		w.WriteString(in + name + "(" + strings.Join(args, ", ") + ")\n")
	}
}

// split tells a block's attributes from the blocks in it.
func split(e entry) (attrs, blocks []entry) {
	list, _ := e.value.([]entry)
	for _, m := range list {
		_, body := m.value.([]entry)
		switch {
		case m.label != nil || body && (m.name == "validation" || m.name == "policy" || m.name == "ssh" ||
			e.name == "define" && m.name == "locals" || m.name == "expect"):
			blocks = append(blocks, m)
		default:
			attrs = append(attrs, m)
		}
	}
	return attrs, blocks
}

func starArgs(in string, list []entry) string {
	words := "and as assert break class continue def del elif else except finally for from global if import in is lambda load nonlocal not or pass raise return try while with yield"
	var named, rest []string
	for _, e := range list {
		if strings.Contains(e.name, "-") || strings.Contains(" "+words+" ", " "+e.name+" ") {
			rest = append(rest, quoted(e.name)+": "+starValue(e.value))
			continue
		}
		named = append(named, "\n"+in+"  "+e.name+" = "+starValue(e.value))
	}
	if len(rest) > 0 {
		named = append(named, "**{"+strings.Join(rest, ", ")+"}")
	}
	return strings.Join(named, ",")
}

func starValue(v any) string {
	switch v := v.(type) {
	case []entry:
		var out []string
		for _, e := range v {
			out = append(out, quoted(e.name)+": "+starValue(e.value))
		}
		return "{" + strings.Join(out, ", ") + "}"
	case []any:
		var out []string
		for _, e := range v {
			out = append(out, starValue(e))
		}
		return "[" + strings.Join(out, ", ") + "]"
	case plain:
		return quoted(string(v))
	case unquoted:
		return "expr(" + quoted(string(v)) + ")"
	case raw:
		return map[string]string{"true": "True", "false": "False",
			"null": "None"}[string(v)] + map[bool]string{true: string(v)}[strings.Trim(string(v), "0123456789.e+-") == ""]
	}
	return "template(" + quoted(v.(string)) + ")"
}
