package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"
)

const troubleshootingPage = "../../docs/troubleshooting.md"

// TestTroubleshooting compares the messages in docs/troubleshooting.md with the texts in the
// source: a user searches the page for the message as it was printed.
func TestTroubleshooting(t *testing.T) {
	page, err := os.ReadFile(troubleshootingPage)
	if err != nil {
		t.Fatal(err)
	}
	var texts strings.Builder
	for _, p := range loadProject(t) {
		for _, f := range p.files {
			texts.WriteString(literals(f))
		}
	}
	report(t, unknownMessages(string(page), texts.String()))
}

// literals are the texts in a file, each on its line.
func literals(f *ast.File) string {
	var b strings.Builder
	ast.Inspect(f, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if s, err := strconv.Unquote(lit.Value); err == nil {
				b.WriteString(s + "\n")
			}
		}
		return true
	})
	return b.String()
}

// unknownMessages returns a problem for each message in the first column of a table of which a
// part is not in texts. "…" separates the parts of a message.
func unknownMessages(page, texts string) (broken []string) {
	for line := range strings.Lines(page) {
		cell, _, ok := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		if !ok || !strings.HasPrefix(line, "| ") {
			continue
		}
		for _, span := range codeSpan.FindAllString(cell, -1) {
			for part := range strings.SplitSeq(strings.Trim(span, "`"), "…") {
				if part = strings.Trim(part, " :\""); !strings.Contains(texts, part) {
					broken = append(broken, fmt.Sprintf("docs/troubleshooting.md: no text of fettle contains %q", part))
				}
			}
		}
	}
	return broken
}

// TestUnknownMessages: a part of a message that the source does not contain is found.
func TestUnknownMessages(t *testing.T) {
	page := "text\n\n| message | cause |\n|---|---|\n| `cannot open …: it is gone` | `fettle gone` |\n| `cannot find …` | a |\n"
	if got := unknownMessages(page, "cannot open %s: it is gone\n"); len(got) != 1 ||
		!strings.Contains(got[0], `"cannot find"`) {
		t.Errorf("found %q, want only the message that does not exist", got)
	}
}
