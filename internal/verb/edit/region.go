package edit

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
)

// span is the place of a region in a file's text, [start, end). [inner, outer) is the region's own
// text without markers.
type span struct {
	start, end   int
	inner, outer int // [inner, outer) is the text
}

// locate finds the step's region: the marked block, or the last line that is it.
func locate(text string, s step.Step) (found span, ok bool) {
	if s.Get("block") != "" {
		return locateBlock(text, s)
	}
	for _, is := range lines(s) {
		if all := spans(text, is); len(all) > 0 {
			return all[len(all)-1], true
		}
	}
	return span{}, false
}

// locateAll returns every place of the step's region, in order, because a removal must remove all
// of them.
func locateAll(text string, s step.Step) []span {
	if s.Get("block") != "" {
		return allBlocks(text, s)
	}
	is := lines(s)
	return spans(text, func(line string) bool {
		return slices.ContainsFunc(is, func(f func(string) bool) bool { return f(line) })
	})
}

// lines returns the predicates for lines of the step's region, in search order. The desired line is
// first, because match need not match it after a change.
func lines(s step.Step) (is []func(line string) bool) {
	if s.Get("key") != "" {
		return append(is, func(line string) bool {
			_, ok := valueIn(line, s)
			return ok
		})
	}
	if want, ok := s.Lookup("line"); ok {
		is = append(is, func(line string) bool { return line == want })
	}
	if match, ok := s.Lookup("match"); ok {
		if re, err := regexp.Compile(match); err == nil { // the parser refuses a wrong one
			is = append(is, re.MatchString)
		}
	}
	return is
}

func spans(text string, is func(line string) bool) (all []span) {
	eachLine(text, func(start, end int, line string) {
		if is(line) {
			all = append(all, span{start, end, start, end})
		}
	})
	return all
}

// eachLine calls f for each line with its bytes [start, end), the newline
// included, and its text without it.
func eachLine(text string, f func(start, end int, line string)) {
	for start := 0; start < len(text); {
		end := len(text)
		if i := strings.IndexByte(text[start:], '\n'); i >= 0 {
			end = start + i + 1
		}
		f(start, end, strings.TrimSuffix(text[start:end], "\n"))
		start = end
	}
}

func markers(s step.Step) (begin, end string) {
	c := "#"
	if v, ok := s.Lookup("comment"); ok && v != "" {
		c = v
	}
	name := s.Get("block")
	return c + " BEGIN fettle " + name, c + " END fettle " + name
}

func locateBlock(text string, s step.Step) (span, bool) {
	all := allBlocks(text, s)
	if len(all) == 0 {
		return span{}, false
	}
	return all[0], true
}

func allBlocks(text string, s step.Step) (all []span) {
	begin, end := markers(s)
	open := -1
	var inner int
	eachLine(text, func(from, to int, line string) {
		switch {
		case line == begin:
			open, inner = from, to
		case line == end && open >= 0:
			all = append(all, span{open, to, inner, from})
			open = -1
		}
	})
	return all
}

func separator(s step.Step) string {
	if v, ok := s.Lookup("separator"); ok {
		return v
	}
	return "="
}

// valueIn returns the value in a line with the key; blanks around key, value and separator are
// ignored.
func valueIn(line string, s step.Step) (value string, ok bool) {
	rest, ok := strings.CutPrefix(trim(line), trim(s.Get("key")))
	if !ok {
		return "", false
	}
	sep := trim(separator(s))
	if sep == "" { // blanks separate
		return trim(rest), rest == "" || rest != trimLeft(rest)
	}
	rest, ok = strings.CutPrefix(trimLeft(rest), sep)
	return trim(rest), ok
}

func trim(s string) string     { return strings.Trim(s, " \t") }
func trimLeft(s string) string { return strings.TrimLeft(s, " \t") }

// refuse explains why a step's region would not be found again after it is written, "" if it would.
func refuse(s step.Step) string {
	switch {
	case s.Absent():
		return ""
	case s.Get("key") != "" && trim(s.Get("key")) == "":
		return "its key is blank; name one"
	case s.Get("key") != "" && separator(s) == "":
		return "its separator is empty, so key and value would be one word; for a blank, write separator=\" \""
	}
	if s.Get("block") == "" {
		return ""
	}
	begin, end := markers(s)
	for line := range strings.Lines(s.Get("content")) {
		if line = strings.TrimSuffix(line, "\n"); line == begin || line == end {
			return fmt.Sprintf("its content contains the line %q, which marks the beginning or end of the block; give the block another name, or remove the line", line)
		}
	}
	return ""
}

// find is the image of the step's region in a file's text.
func find(text string, s step.Step) image.Region {
	noEOL := text != "" && !strings.HasSuffix(text, "\n")
	sp, ok := locate(text, s)
	if !ok {
		return image.Region{NoEOL: noEOL}
	}
	var others []image.Place
	if s.Absent() {
		all := locateAll(text, s)
		sp = all[len(all)-1]
		for _, o := range all[:len(all)-1] {
			others = append(others, place(text, o))
		}
	}
	p := place(text, sp)
	return image.Region{Present: true, Text: p.Text, Line: p.Line, Others: others, CutEnd: noEOL &&
		sp.end == len(text) && sp.end > sp.outer}
}

func place(text string, sp span) image.Place {
	return image.Place{Text: text[sp.inner:sp.outer], Line: 1 + strings.Count(text[:sp.start], "\n")}
}

// wanted returns the desired region of the step, starting from now.
func wanted(s step.Step, now image.Region) image.Region {
	if s.Absent() {
		return image.Region{FileAbsent: now.FileAbsent}
	}
	if s.Get("key") != "" {
		line := s.Get("key") + separator(s) + s.Get("value")
		if v, ok := valueIn(strings.TrimSuffix(now.Text, "\n"), s); now.Present && ok && v == trim(s.Get("value")) {
			return now
		}
		return image.Region{Present: true, Text: line + "\n", Line: now.Line}
	}
	text := s.Get("line")
	if s.Get("block") != "" {
		text = s.Get("content")
	}
	if strings.TrimSuffix(now.Text, "\n") == strings.TrimSuffix(text, "\n") && now.Present {
		return now
	}
	if text != "" || s.Get("block") == "" {
		text = strings.TrimSuffix(text, "\n") + "\n"
	}
	return image.Region{Present: true, Text: text, Line: now.Line}
}

// put returns the file's text with the step's region as in to.
func put(text string, s step.Step, to image.Region) string {
	if !to.Present {
		return without(text, s, to)
	}
	if len(to.Others) == 0 {
		if sp, ok := locate(text, s); ok {
			return text[:sp.inner] + to.Text + text[sp.outer:]
		}
		return insert(text, s, image.Place{Text: to.Text, Line: to.Line}, to.CutEnd)
	}
	text = without(text, s, image.Region{})
	for _, p := range to.Others {
		text = insert(text, s, p, false)
	}
	return insert(text, s, image.Place{Text: to.Text, Line: to.Line}, to.CutEnd)
}

// without removes the region: all its places if the step is absent, otherwise only the place that
// the step created.
func without(text string, s step.Step, to image.Region) string {
	var all []span
	if sp, ok := locate(text, s); s.Absent() {
		all = locateAll(text, s)
	} else if ok {
		all = []span{sp}
	}
	for _, sp := range slices.Backward(all) {
		atEnd := sp.end == len(text)
		text = text[:sp.start] + text[sp.end:]
		if atEnd && to.NoEOL {
			text = strings.TrimSuffix(text, "\n")
		}
	}
	return text
}

// insert puts a region where it is not. cut leaves out the last newline of a
// block that ends the file.
func insert(text string, s step.Step, p image.Place, cut bool) string {
	body := p.Text
	if s.Get("block") != "" {
		begin, end := markers(s)
		body = begin + "\n" + body + end + "\n"
	}
	at := outside(text, offset(text, p.Line))
	if cut && at == len(text) {
		body = strings.TrimSuffix(body, "\n")
	}
	before := text[:at]
	if before != "" && !strings.HasSuffix(before, "\n") {
		before += "\n"
	}
	return before + body + text[at:]
}

// offset is where line n (from 1) begins; the end of the text when n is 0 or
// there are fewer lines.
func offset(text string, n int) int {
	if n < 1 {
		return len(text)
	}
	at := 0
	for ; n > 1; n-- {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			return len(text)
		}
		at += i + 1
	}
	return at
}

// outside moves an offset inside any marked block to the end of that block, because the lines can
// have moved since the place was recorded.
func outside(text string, at int) int {
	open, name := -1, ""
	out := at
	eachLine(text, func(start, end int, line string) {
		if _, n, ok := strings.Cut(line, " BEGIN fettle "); ok && open < 0 {
			open, name = start, n
		} else if _, n, ok := strings.Cut(line, " END fettle "); ok && open >= 0 && n == name {
			if open < at && at < end {
				out = end
			}
			open = -1
		}
	})
	return out
}
