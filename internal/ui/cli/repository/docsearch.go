package repository

import (
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/diag"
)

// firstSentence is the beginning of a description, for a list.
func firstSentence(doc string) string {
	line, _, _ := strings.Cut(doc, "\n")
	if i := strings.Index(line, ". "); i >= 0 {
		return line[:i+1]
	}
	return line
}

// search returns what contains a word, in any case: in its name, its description, or the names and
// descriptions of its attributes.
func (d DocsDoc) search(word string) (out DocsDoc, found bool) {
	out = emptyDocs(d.Format)
	has := containing(word)
	for _, k := range d.Kinds {
		if has(k.Name, k.Doc) || has(attrTexts(k.Attrs, k.Actions, k.Outputs)...) {
			out.Kinds = append(out.Kinds, k)
		}
	}
	for _, b := range d.Blocks {
		if has(b.Name, b.Doc) || has(attrTexts(b.Attrs)...) {
			out.Blocks = append(out.Blocks, b)
		}
	}
	for _, v := range d.Verbs {
		if has(v.Name, v.Doc) || has(attrTexts(v.Keys)...) {
			out.Verbs = append(out.Verbs, v)
		}
	}
	for _, a := range d.Actions {
		if has(a.Called(), a.Doc) {
			out.Actions = append(out.Actions, a)
		}
	}
	for _, c := range d.Commands {
		if has(c.Name, c.Doc) {
			out.Commands = append(out.Commands, c)
		}
	}
	return out, len(out.Kinds)+len(out.Blocks)+len(out.Verbs)+len(out.Actions)+len(out.Commands) > 0
}

// suggestion asks whether the user meant a similar name; "" if there is none.
func (d DocsDoc) suggestion(word string) string {
	var names []string
	for _, k := range d.Kinds {
		names = append(names, k.Name)
	}
	for _, b := range d.Blocks {
		names = append(names, b.Name)
	}
	for _, v := range d.Verbs {
		names = append(names, v.Name)
	}
	for _, a := range d.Actions {
		names = append(names, a.Called())
	}
	for _, c := range d.Commands {
		names = append(names, c.Name)
	}
	if near := diag.Nearest(word, names, 2); near != "" {
		return fmt.Sprintf("Did you mean %q?\n", near)
	}
	return ""
}

// containing returns a test whether any of several texts contains a word.
func containing(word string) func(texts ...string) bool {
	word = strings.ToLower(word)
	return func(texts ...string) bool {
		for _, t := range texts {
			if strings.Contains(strings.ToLower(t), word) {
				return true
			}
		}
		return false
	}
}

func attrTexts(lists ...[]attrDoc) (out []string) {
	for _, attrs := range lists {
		for _, a := range attrs {
			out = append(out, a.Name, a.Doc)
		}
	}
	return out
}

// about returns the part of a doc with a name.
func (d DocsDoc) about(name string) (out DocsDoc, found bool) {
	out = emptyDocs(d.Format)
	for _, k := range d.Kinds {
		if k.Name == name {
			out.Kinds, found = append(out.Kinds, k), true
		}
	}
	for _, b := range d.Blocks {
		if b.Name == name && !found {
			out.Blocks, found = append(out.Blocks, b), true
		}
	}
	for _, v := range d.Verbs {
		if v.Name == strings.ToUpper(name) && !found {
			out.Verbs, found = append(out.Verbs, v), true
		}
	}
	if found {
		return out, true
	}
	for _, a := range d.Actions {
		if a.Name == name || a.Called() == name {
			out.Actions, found = append(out.Actions, a), true
		}
	}
	for _, c := range d.Commands {
		if c.Name == name {
			out.Commands, found = append(out.Commands, c), true
		}
	}
	return out, found
}
