package main

import (
	"fmt"
	"slices"
	"strings"

	"fettle.dev/fettle/test/bench/machine"
)

// section is one chapter of the report, from its heading to the next one.
type section struct{ title, text string }

// sections splits a report; what stands before the first heading has no title.
func sections(page string) []section {
	out := []section{{}}
	for line := range strings.Lines(page) {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			out = append(out, section{title: strings.TrimSpace(title)})
		}
		out[len(out)-1].text += line
	}
	return out
}

// merge puts the chapters of works that were measured by themselves into a report, in
// the place of what is there of them. Each says when and where it was measured.
func merge(page string, b *bench, facts []machine.Fact) string {
	old := sections(page)
	for _, w := range works() {
		rows := b.rows(w)
		if rows == nil {
			continue
		}
		title, text := about(w)
		s := section{title, fmt.Sprintf("## %s\n\n%s\n\nMeasured separately: %s.\n\n%s\n", title, text, inShort(facts),
			markdownTable(rows))}
		if i := indexOf(old, title); i >= 0 {
			old[i] = s
		} else {
			old = slices.Insert(old, placeOf(old, w), s)
		}
	}
	return told(old, b)
}

// placeOf is before the chapter of the first later work that is there, else before
// what is said of the tools.
func placeOf(page []section, w work) int {
	later := works()[slices.Index(works(), w)+1:]
	for _, l := range later {
		title, _ := about(l)
		if i := indexOf(page, title); i >= 0 {
			return i
		}
	}
	if i := indexOf(page, toolsTitle); i >= 0 {
		return i
	}
	return len(page)
}

func indexOf(page []section, title string) int {
	return slices.IndexFunc(page, func(s section) bool { return s.title == title })
}

const toolsTitle = "Commands of each tool"

// told adds how tools were told that the report does not know yet, and gives it whole.
func told(page []section, b *bench) string {
	var t strings.Builder
	for _, s := range page {
		if s.title == toolsTitle {
			s.text = strings.TrimRight(s.text, "\n") + "\n"
			for _, line := range toolLines(b) {
				if !strings.Contains(s.text, line) {
					s.text += line
				}
			}
			s.text += "\n"
		}
		t.WriteString(s.text)
	}
	return t.String()
}

// inShort is when and how loaded the machine was.
func inShort(facts []machine.Fact) string {
	var parts []string
	for _, f := range facts {
		if f.Name == "date" || strings.HasPrefix(f.Name, "load average") {
			parts = append(parts, f.Name+" "+f.Value)
		}
	}
	return strings.Join(parts, ", ")
}
