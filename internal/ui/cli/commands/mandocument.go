package commands

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// documentPages writes a page of section 7 for each Markdown document: fettle-language.7.
func documentPages(dir string, documents []string) error {
	for _, file := range documents {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name := "fettle-" + strings.TrimSuffix(filepath.Base(file), ".md")
		if err := os.WriteFile(filepath.Join(dir, name+".7"), []byte(documentPage(name, string(text))), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// documentPage converts the Markdown of the documents to man(7). The rows of a table become
// tagged paragraphs.
func documentPage(name, text string) string {
	p := &manWriter{}
	title, rest, _ := strings.Cut(strings.TrimPrefix(text, "# "), "\n")
	fmt.Fprintf(&p.b, ".TH %s 7 \"\" fettle \"fettle manual\"\n.SH NAME\n%s \\- %s\n.SH DESCRIPTION\n",
		roff(strings.ToUpper(name)), roff(name), roff(title))
	for line := range strings.Lines(rest) {
		p.line(strings.TrimRight(line, "\n"))
	}
	p.end()
	return p.b.String() + ".SH SEE ALSO\n" + roff("fettle(1), fettle-language(7), fettle-kinds(7), fettle-steps(7)") + "\n"
}

// manWriter converts one line after another. paragraph gathers the lines of a paragraph.
type manWriter struct {
	b         strings.Builder
	paragraph []string
	code      bool
	macro     string // before the paragraph
}

var tableRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\|[-:| ]+\|$`) })

func (p *manWriter) line(l string) {
	text := strings.TrimSpace(l)
	switch {
	case strings.HasPrefix(text, "```"):
		p.end()
		p.code = !p.code
		p.b.WriteString(map[bool]string{true: ".PP\n.nf\n", false: ".fi\n"}[p.code])
	case p.code:
		p.b.WriteString(roff(l) + "\n")
	case text == "", strings.HasPrefix(text, "<!--"), tableRule().MatchString(text):
		p.end()
	case strings.HasPrefix(text, "## "):
		p.heading(".SH", strings.ToUpper(text[3:]))
	case strings.HasPrefix(text, "#"):
		p.heading(".SS", strings.TrimLeft(text, "# "))
	case strings.HasPrefix(text, "|"):
		p.row(strings.Trim(text, "|"))
	case strings.HasPrefix(text, "- "):
		p.begin(".IP \\(bu 2", text[2:])
	default:
		p.paragraph = append(p.paragraph, text)
	}
}

func (p *manWriter) heading(macro, text string) {
	p.end()
	fmt.Fprintf(&p.b, "%s %s\n", macro, inline(text))
}

func (p *manWriter) begin(macro, text string) {
	p.end()
	p.macro, p.paragraph = macro, []string{text}
}

func (p *manWriter) row(cells string) {
	p.end()
	tag, rest, _ := strings.Cut(strings.ReplaceAll(cells, `\|`, "\x00"), "|")
	var parts []string
	for cell := range strings.SplitSeq(rest, "|") {
		if cell = strings.TrimSpace(cell); cell != "" {
			parts = append(parts, cell)
		}
	}
	text := func(s string) string { return inline(strings.TrimSpace(strings.ReplaceAll(s, "\x00", "|"))) }
	if tag = text(tag); tag == "" {
		tag = `\ `
	}
	fmt.Fprintf(&p.b, ".TP\n%s\n%s\n", tag, text(strings.Join(parts, "; ")))
}

// end writes the paragraph.
func (p *manWriter) end() {
	if len(p.paragraph) > 0 {
		macro := p.macro
		if macro == "" {
			macro = ".PP"
		}
		fmt.Fprintf(&p.b, "%s\n%s\n", macro, inline(strings.Join(p.paragraph, " ")))
	}
	p.macro, p.paragraph = "", nil
}

var (
	markdownLink = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`) })
	markdownMark = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile("\\*\\*([^*]+)\\*\\*|`([^`]+)`|\\*([^*`\\s][^*`]*)\\*")
	})
)

// inline converts links, code spans, and bold and italic text of one paragraph.
func inline(text string) string {
	text = markdownLink().ReplaceAllString(text, "$1")
	var b strings.Builder
	at := 0
	for _, m := range markdownMark().FindAllStringSubmatchIndex(text, -1) {
		b.WriteString(escaped(text[at:m[0]]))
		for i, font := range []string{`\fB`, `\fB`, `\fI`} {
			if from, to := m[2+2*i], m[3+2*i]; from >= 0 {
				b.WriteString(font + escaped(text[from:to]) + `\fR`)
			}
		}
		at = m[1]
	}
	return guarded(b.String() + escaped(text[at:]))
}
