package hostile

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"os"
	"slices"
	"strings"
)

func read(p string) string {
	b, err := os.ReadFile(p)
	if err != nil {
		return ""
	}
	return string(b)
}

// ordered gives a map by its sorted keys.
func ordered(m map[string]string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if !yield(k, m[k]) {
				return
			}
		}
	}
}

// single is a repository of one file.
func single(text string) func() map[string]string {
	return func() map[string]string { return map[string]string{"fettle.hcl": text} }
}

func jsonText(s string) (string, error) {
	b, err := json.Marshal(s)
	return string(b), err
}

// pattern is a text that repeats two parts around its middle.
type pattern struct{ name, pre, open, mid, close, post string }

func (p pattern) text(n int) string {
	return p.pre + strings.Repeat(p.open, n) + p.mid + strings.Repeat(p.close, n) + p.post
}

// shapes nest, each in every place where an expression can stand.
func shapes() []bad {
	var all []bad
	add := func(n int, name string, files func() map[string]string) {
		all = append(all, bad{fmt.Sprintf("%s %d deep", name, n), files, false})
	}
	const head = "target \"a\" {}\n"
	for _, n := range []int{10_000, 30_000, 100_000, 1_000_000} {
		for _, p := range nestedExpressions() {
			for _, place := range expressionPlaces() {
				add(n, fmt.Sprintf("%s in %.40q", p.name, place), func() map[string]string {
					return map[string]string{"fettle.hcl": head + strings.Replace(place, "X", p.text(n), 1), "t": ""}
				})
			}
		}
		for _, p := range nestedTexts() {
			add(n, p.name, func() map[string]string { return map[string]string{"fettle.hcl": head + p.text(n), "t": ""} })
			add(n, p.name+" in a module", func() map[string]string {
				return map[string]string{"fettle.hcl": "target \"a\" { modules = [\"m\"] }\n", "modules/m/module.hcl": p.text(n)}
			})
		}
		for _, p := range nestedTemplates() {
			add(n, p.name+" in a template", func() map[string]string {
				return map[string]string{"fettle.hcl": head + "file \"/etc/x\" { content = templatefile(\"t\", {}) }\n",
					"t": p.text(n)}
			})
		}
		for _, p := range nestedData() {
			decode, _, _ := strings.Cut(p.name, " ")
			add(n, p.name, func() map[string]string {
				return map[string]string{"fettle.hcl": head + "file \"/etc/x\" { content = jsonencode(" + decode +
					"decode(file(\"t\"))) }\n", "t": p.text(n)}
			})
			all[len(all)-1].may = n == 10_000 // what the reader of YAML allows
		}
	}
	return all
}

func expressionPlaces() []string {
	return []string{
		"locals { a = X }\nfile \"/etc/x\" { content = jsonencode(local.a) }\n",
		"file \"/etc/x\" { content = X }\n",
		"file \"x\" {\n  for_each = X\n  path = each.key\n  content = \"\"\n}\n",
		"file \"/etc/x\" {\n  content = \"\"\n  when = X\n}\n",
		"variable \"v\" { default = X }\nfile \"/etc/x\" { content = jsonencode(var.v) }\n",
		"variable \"v\" {\n  default = 1\n  validation {\n    condition = X\n    error_message = \"\"\n  }\n}\n",
		"file \"/etc/x\" {\n  content = \"\"\n  notify = [X]\n}\n",
		"file \"/etc/x\" {\n  content = \"\"\n  after = X\n}\n",
		"file \"/etc/x\" { content = \"${X}\" }\n",
		"file \"/etc/x\" { content = <<EOT\n${X}\nEOT\n}\n",
		"variable \"v\" { type = X }\n",
	}
}

// nestedExpressions are what can stand in the place of a value.
func nestedExpressions() []pattern {
	return []pattern{
		{name: "brackets", open: "[", close: "]"}, {name: "open brackets", open: "["}, {name: "close brackets", open: "]"},
		{name: "parentheses", open: "(", mid: "1", close: ")"}, {name: "open parentheses", open: "("},
		{name: "objects", open: "{a=", mid: "1", close: "}"},
		{name: "objects in brackets", open: "[{a=", mid: "1", close: "}]"},
		{name: "templates", open: "\"${", mid: "1", close: "}\""}, {name: "open templates", open: "\"${"},
		{name: "ternaries", open: "true?1:", mid: "1"}, {name: "ternaries first", open: "true?", mid: "1", close: ":1"},
		{name: "ternary conditions", open: "(", mid: "true", close: "?true:true)"},
		{name: "not", open: "!", mid: "true"}, {name: "minus", open: "-", mid: "1"},
		{name: "mixed signs", open: "-!", mid: "1"},
		{name: "sums", open: "1+", mid: "1"}, {name: "products", open: "1*", mid: "1"},
		{name: "ands", open: "true&&", mid: "true"}, {name: "ors", open: "true||", mid: "true"},
		{name: "comparisons", open: "1==", mid: "1"}, {name: "precedences", open: "1+1*1==1&&", mid: "true"},
		{name: "calls", open: "upper(", mid: "\"\"", close: ")"}, {name: "calls of nothing", open: "f(", close: ")"},
		{name: "namespaces", open: "f::", mid: "f()"},
		{name: "indexes", pre: "[1]", open: "[0]"}, {name: "indexes in indexes", open: "[1][", mid: "0", close: "]"},
		{name: "attributes", pre: "x", open: ".c"}, {name: "splats", pre: "x", open: "[*]"},
		{name: "attribute splats", pre: "x", open: ".*"}, {name: "old indexes", pre: "x", open: ".0"},
		{name: "for lists", open: "[for a in [1] : ", mid: "1", close: "]"},
		{name: "for objects", open: "{for a in [1] : a => ", mid: "1", close: "}"},
		{name: "for conditions", open: "[for a in [1] : a if ", mid: "true", close: "]"},
		{name: "heredocs", open: "<<A\n${", mid: "1"},
		{name: "directives", pre: "\"", open: "%{if true}", close: "%{endif}", post: "\""},
		{name: "for directives", pre: "\"", open: "%{for a in [1]}", close: "%{endfor}", post: "\""},
		{name: "newlines in parentheses", pre: "(", open: "!\n", mid: "true", post: ")"}, {name: "comments", open: "/*"},
		{name: "spread", pre: "max(", open: "[", close: "]", post: "...)"},
	}
}

// nestedTexts are whole sources.
func nestedTexts() []pattern {
	return []pattern{
		{name: "blocks", open: "a{", close: "}", post: "\n"},
		{name: "labelled blocks", open: "block \"b\" {\n", close: "}\n"}, {name: "open blocks", open: "a {\n"},
		{name: "labels", pre: "file ", open: "\"a\" ", post: "{}\n"},
		{name: "defines", open: "define \"k\" {\n", close: "}\n"}, {name: "closing braces", open: "}", post: "\n"},
		{name: "open quotes", open: "a = \"\n"}, {name: "open heredocs", open: "a = <<A\n"},
	}
}

func nestedTemplates() []pattern {
	return []pattern{
		{name: "interpolations", open: "${\"", mid: "x", close: "\"}"}, {name: "open interpolations", open: "${"},
		{name: "brackets", pre: "${", open: "[", close: "]", post: "}"},
		{name: "ifs", open: "%{if true}", close: "%{endif}"}, {name: "elses", open: "%{if true}%{else}", close: "%{endif}"},
		{name: "fors", open: "%{for x in [1]}", close: "%{endfor}"}, {name: "open directives", open: "%{"},
		{name: "strips", open: "${~"},
	}
}

// nestedData are files for the decoder that their first word names.
func nestedData() []pattern {
	return []pattern{
		{name: "json lists", open: "[", close: "]"}, {name: "json objects", open: `{"a":`, mid: "1", close: "}"},
		{name: "json open", open: "["},
		{name: "yaml lists", open: "[", close: "]"}, {name: "yaml objects", open: "{a: ", mid: "1", close: "}"},
		{name: "yaml dashes", open: "- ", mid: "1"}, {name: "yaml question marks", open: "? ", mid: "1"},
	}
}

// strangeBytes are bytes that no source should have, in every place.
func strangeBytes() []bad {
	var all []bad
	places := []string{"X", "X\n", "# X\n", "/* X */\n", "locals { a = X }\n", "locals { a = \"X\" }\n",
		"locals { X = 1 }\n", "file \"/etc/X\" { content = \"\" }\n", "file X {}\n", "X \"a\" {}\n",
		"locals { a = <<EOT\nX\nEOT\n}\n", "locals { a = \"${X}\" }\n", "locals { a = 1 X }\n"}
	for name, text := range ordered(map[string]string{
		"a byte that is no UTF-8": "\xff", "an overlong slash": "\xc0\xaf", "half a character": "\xe2\x80",
		"a surrogate": "\xed\xa0\x80", "beyond Unicode": "\xf4\x90\x80\x80", "Latin-1": "caf\xe9",
		"NUL": "\x00", "backspace": "\x08", "escape": "\x1b[31m", "delete": "\x7f", "a C1 control": "\u0085\u009b",
		"a bell": "\x07", "form feed": "\x0c", "a return alone": "a\rb",
		"right-to-left override": "\u202e", "left-to-right override": "\u202d", "embedding": "\u202a",
		"isolate": "\u2066\u2069", "pop": "\u202c",
	}) {
		for _, p := range places {
			all = append(all, bad{fmt.Sprintf("%s in %q", name, p),
				single("target \"a\" {}\n" + strings.Replace(p, "X", text, 1)), false})
		}
	}
	for name, text := range ordered(map[string]string{"UTF-16": "t\x00a\x00r\x00g\x00e\x00t\x00",
		"UTF-16 with a mark": "\xff\xfet\x00a\x00", "UTF-32": "t\x00\x00\x00", "a program": "\x7fELF\x02\x01\x01",
		"gzip": "\x1f\x8b\x08", "two marks": "\ufeff\ufeffvars = {}\n",
		"a mark inside": "target \"a\" {}\n\ufefflocals {}\n", "1 MiB of NUL": strings.Repeat("\x00", 1<<20),
		"2 MiB": strings.Repeat("#", 2<<20), "one long line": "locals { a = " + strings.Repeat("x", 1<<20-30) + " }"}) {
		all = append(all, bad{name, single(text), false})
	}
	return all
}
