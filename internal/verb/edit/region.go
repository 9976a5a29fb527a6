package edit

import (
	"regexp"
	"strings"

	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
)

// span is where a region stands in a file's text, [start, end), and the part of
// it that is the region's own text, markers left out.
type span struct {
	start, end   int
	inner, outer int // [inner, outer) is the text
}

// locate finds the step's region.
func locate(text string, s step.Step) (span, bool) {
	switch {
	case s.Get("block") != "":
		return locateBlock(text, s)
	case s.Get("key") != "":
		return locateLine(text, keyPattern(s))
	}
	return locateMatch(text, s)
}

// locateMatch finds the wanted line itself first, since after a change match
// need not match any more; then the last line that matches.
func locateMatch(text string, s step.Step) (span, bool) {
	if line, ok := s.Lookup("line"); ok {
		if sp, ok := locateLine(text, regexp.MustCompile("^"+regexp.QuoteMeta(line)+"$")); ok {
			return sp, true
		}
	}
	match, ok := s.Lookup("match")
	if !ok {
		return span{}, false
	}
	re, err := regexp.Compile(match)
	if err != nil {
		return span{}, false // the parser refuses it with its position
	}
	return locateLine(text, re)
}

func locateLine(text string, re *regexp.Regexp) (found span, ok bool) {
	eachLine(text, func(start, end int, line string) {
		if re.MatchString(line) {
			found, ok = span{start, end, start, end}, true
		}
	})
	return found, ok
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

func locateBlock(text string, s step.Step) (found span, ok bool) {
	begin, end := markers(s)
	open := -1
	var inner int
	eachLine(text, func(from, to int, line string) {
		switch {
		case ok:
		case line == begin:
			open, inner = from, to
		case line == end && open >= 0:
			found, ok = span{open, to, inner, from}, true
		}
	})
	return found, ok
}

func separator(s step.Step) string {
	if v, ok := s.Lookup("separator"); ok {
		return v
	}
	return "="
}

// keyPattern finds the key's line; blanks around the separator do not matter.
func keyPattern(s step.Step) *regexp.Regexp {
	sep := regexp.QuoteMeta(strings.TrimSpace(separator(s)))
	if sep == "" {
		sep = `[ \t]`
	}
	return regexp.MustCompile(`^[ \t]*` + regexp.QuoteMeta(s.Get("key")) + `[ \t]*` + sep + `[ \t]*(.*?)[ \t]*$`)
}

// find is the image of the step's region in a file's text.
func find(text string, s step.Step) image.Region {
	r := image.Region{NoEOL: text != "" && !strings.HasSuffix(text, "\n")}
	sp, ok := locate(text, s)
	if !ok {
		return r
	}
	return image.Region{Present: true, Text: text[sp.inner:sp.outer], Line: 1 + strings.Count(text[:sp.start], "\n")}
}

// wanted is the region that the step asks for where now was found.
func wanted(s step.Step, now image.Region) image.Region {
	if s.Absent() {
		return image.Region{FileAbsent: now.FileAbsent}
	}
	if s.Get("key") != "" {
		line := s.Get("key") + separator(s) + s.Get("value")
		if m := keyPattern(s).FindStringSubmatch(strings.TrimSuffix(now.Text, "\n")); now.Present && m != nil && m[1] == s.Get("value") {
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

// put gives the file's text with the step's region as in to.
func put(text string, s step.Step, to image.Region) string {
	sp, ok := locate(text, s)
	if !to.Present {
		if !ok {
			return text
		}
		atEnd := sp.end == len(text)
		text = text[:sp.start] + text[sp.end:]
		if atEnd && to.NoEOL {
			text = strings.TrimSuffix(text, "\n")
		}
		return text
	}
	if ok {
		return text[:sp.inner] + to.Text + text[sp.outer:]
	}
	body := to.Text
	if s.Get("block") != "" {
		begin, end := markers(s)
		body = begin + "\n" + body + end + "\n"
	}
	at := outside(text, offset(text, to.Line))
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

// outside moves an offset that is inside a marked block, whichever it is, behind
// that block: the lines may have moved since the place was noted.
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
