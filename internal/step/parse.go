package step

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"fettle.dev/fettle/internal/diag"
)

// The limits of a list file. Larger input is refused before it costs memory or time.
const (
	MaxFile  = 64 << 20  // bytes of a file
	MaxLine  = 1 << 20   // bytes of a line
	MaxSteps = 1_000_000 // steps of a list

	// maxDiagnostics is the number of errors after which reading stops, because more would be
	// useless.
	maxDiagnostics = 1000
	// roomAtFirst limits the initial allocation for a file of empty lines.
	roomAtFirst = 1 << 16
)

// Parse reads a list. file is its name for the user; src is not retained. Each error is reported
// with its place and line, up to a limit that no user reads. The list has only the correct lines:
// if there are errors, use it only for display.
//
// Parse is pure, and never panics for any src.
func Parse(file string, src []byte) (List, diag.List) {
	if len(src) > MaxFile {
		return nil, diag.List{diag.Errorf(diag.Range{File: file}, "File too large",
			"The list has %d bytes; the limit is %d. Split it with INCLUDE.", len(src), MaxFile)}
	}
	p := parser{file: file, size: len(src)}
	p.list = make(List, 0, min(roomAtFirst, bytes.Count(src, []byte{'\n'})+1))
	p.run(string(src))
	if len(p.list) == 0 {
		p.list = nil
	}
	return p.list, p.diags
}

// parser reads one file from its beginning to its end.
type parser struct {
	file  string
	size  int // bytes of the file
	list  List
	diags diag.List
	check checker

	tokens []token // reused for every line
	number int     // of the present line, from 1
	start  int     // byte offset of the present line
	line   string  // the present line, without its newline
	plain  bool    // columns are bytes in this line
}

func (p *parser) run(src string) {
	const bom = "\ufeff"
	if strings.HasPrefix(src, bom) {
		p.start = len(bom)
	}
	for p.start < len(src) && p.mayGoOn() {
		p.number++
		line, _, _ := strings.Cut(src[p.start:], "\n")
		next := p.start + len(line) + 1
		p.line = strings.TrimSuffix(line, "\r")
		p.readLine()
		p.start = next
	}
}

// mayGoOn reports whether to read another line; if not, it adds the reason.
func (p *parser) mayGoOn() bool {
	switch {
	case len(p.diags) >= maxDiagnostics:
		p.add(0, 0, "Too many errors",
			fmt.Sprintf("The first %d errors are shown, and the remaining file was not read. Correct these errors first.",
				maxDiagnostics))
		return false
	case len(p.list) > MaxSteps:
		p.list = p.list[:MaxSteps]
		p.add(0, 0, "Too many steps", fmt.Sprintf("A list has at most %d steps. Split the configuration of the target.",
			MaxSteps))
		return false
	}
	return true
}

// lineFaults is the maximum number of reported errors of one line, because each contains its line.
const lineFaults = 20

func (p *parser) readLine() {
	if len(p.line) > MaxLine {
		long := len(p.line)
		p.line = clip(p.line)
		p.add(0, 0, "Line too long",
			fmt.Sprintf("The line has %d bytes; the limit is %d. Put long content into a file and COPY it.", long, MaxLine))
		return
	}
	p.plain = plain(p.line)
	if !p.plain {
		if at, f := badText(p.line); f != nil {
			p.add(at, at+1, f.summary, f.detail)
			return
		}
	}
	lx := lex(p.line, p.tokens)
	p.tokens = lx.tokens
	if lx.bad != nil {
		p.place(*lx.bad, p.tokens, 0)
		return
	}
	if len(p.tokens) > 0 && p.visible(lx) {
		p.readStep(lx)
	}
}

// visible refuses words and sources with invisible characters. A plain comment can contain them.
func (p *parser) visible(lx lexed) bool {
	if p.plain {
		return true
	}
	text := p.line
	if sourceOf(p.line, lx.comment) == "" {
		text = p.line[:lx.comment]
	}
	at, f := invisible(text)
	if f != nil {
		p.add(at, at+1, f.summary, f.detail)
	}
	return f == nil
}

// sourceOf returns the text after "#@", "" for any other comment.
func sourceOf(line string, comment int) string {
	if !strings.HasPrefix(line[comment:], "#@") {
		return ""
	}
	return strings.TrimSpace(line[comment+len("#@"):])
}

func (p *parser) readStep(lx lexed) {
	verb := p.tokens[0]
	sh := shapes[verb.text]
	if sh == nil || verb.key != "" || verb.quoted {
		p.unknownVerb(verb)
		return
	}
	p.check.faults = p.check.faults[:0]
	p.makeRoom()
	p.list = append(p.list, Step{})
	s := &p.list[len(p.list)-1]
	p.check.step(sh, p.tokens[1:], s)
	for _, f := range p.check.faults[:min(len(p.check.faults), lineFaults)] {
		p.place(f, p.tokens, 1)
	}
	if len(p.check.faults) > 0 {
		p.list = p.list[:len(p.list)-1]
		return
	}
	last := p.tokens[len(p.tokens)-1].end
	s.Source = sourceOf(p.line, lx.comment)
	s.Written = written(p.line, lx.comment)
	s.Range = p.rangeOf(verb.start, last)
}

// makeRoom grows a full list once, by the estimated number of remaining steps. A list of a million
// steps is large, and growing it in small steps would copy it many times.
func (p *parser) makeRoom() {
	n := len(p.list)
	if n < cap(p.list) || n == 0 {
		return
	}
	each := max(1, p.start/n)
	rest := (p.size-p.start)/each + n/8
	p.list = slices.Grow(p.list, max(1, min(rest, MaxSteps+1-n)))
}

// written is the line without blanks around it and without the source comment.
func written(line string, comment int) string {
	if strings.HasPrefix(line[comment:], "#@") {
		line = line[:comment]
	}
	return strings.Trim(line, " \t")
}

func (p *parser) unknownVerb(t token) {
	word := p.line[t.start:t.end]
	p.add(t.start, t.end, "Unknown verb", fmt.Sprintf("There is no verb %q.%s A line begins with one of %s.", clip(word),
		question(meantVerb(word)), strings.Join(verbNames(), ", ")))
}

// meantVerb returns the verb that a word probably means, "" if none is similar.
func meantVerb(word string) string {
	word = strings.ToUpper(clip(word))
	switch {
	case shapes[word] != nil:
		return word
	case word == "RMDIR": // the name of the inverse of MKDIR
		return string(Rm)
	}
	return closest(word, verbNames())
}

// place adds a fault in the words after the first skip ones.
func (p *parser) place(f fault, tokens []token, skip int) {
	at := tokens[0]
	if f.at == wholeLine {
		at.end = tokens[len(tokens)-1].end
	} else {
		at = tokens[f.at+skip]
	}
	p.add(at.start, at.end, f.summary, f.detail)
}

// add adds an error at the bytes from..to of the current line.
func (p *parser) add(from, to int, summary, detail string) {
	p.diags = append(p.diags, diag.Diagnostic{
		Summary: summary, Detail: detail, Line: showable(p.line),
		Range: p.rangeOf(from, min(to, len(p.line))),
	})
}

func (p *parser) rangeOf(from, to int) diag.Range {
	return diag.Range{File: p.file, Start: p.pos(from), End: p.pos(to)}
}

func (p *parser) pos(at int) diag.Pos {
	column := at + 1
	if !p.plain {
		column = utf8.RuneCountInString(p.line[:at]) + 1
	}
	return diag.Pos{Line: p.number, Column: column, Byte: p.start + at}
}

// showable is a line for a message: one visible character, or a tab, for each
// character of the line.
func showable(line string) string {
	if plain(line) {
		return line
	}
	return strings.Map(func(r rune) rune {
		if (r < ' ' && r != '\t') || r == 0x7f {
			return utf8.RuneError
		}
		return r
	}, string([]rune(line)))
}
