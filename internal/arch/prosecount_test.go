package arch

import (
	"go/ast"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// proseLimits has the maximum of each place: a document, the comments or the messages of a
// package. Limits only decrease.
const proseLimits = "testdata/prose.txt"

// showProse is the environment variable that names a place whose violations are printed.
const showProse = "FETTLE_PROSE"

// TestProse compares the texts of the project with the rules of STYLE.md about English.
//
//	FETTLE_PROSE=docs/fleet.md go test ./internal/arch -run TestProse -v
//
// prints each violation in a place, and -update lowers the limits.
func TestProse(t *testing.T) {
	found, err := proseOf("../..", loadProject(t))
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for place, all := range found {
		counts[place] = len(all)
	}
	for _, place := range holdLimits(t, proseLimits, counts) {
		t.Errorf("%s breaks the rules of English in STYLE.md %d times, more than before; to see each, run %s=%q go test ./internal/arch -run TestProse -v",
			place, counts[place], showProse, place)
	}
	for _, f := range found[os.Getenv(showProse)] {
		t.Logf("%s: %s", f.rule, f.sentence)
	}
}

// proseOf reads all documents below a directory, and the comments and messages of packages.
func proseOf(dir string, pkgs []*pkg) (map[string][]proseFound, error) {
	all := map[string][]proseFound{}
	add := func(place, text string) {
		for _, p := range paragraphs(text) {
			if found := readProse(p); len(found) > 0 {
				all[place] = append(all[place], found...)
			}
		}
	}
	err := walk(dir, ".md", func(name string, text []byte) { add(name, string(text)) })
	for _, p := range pkgs {
		for _, f := range p.files {
			if !ast.IsGenerated(f) {
				goProse(f, func(kind, text string) { add(p.path+" "+kind, text) })
			}
		}
	}
	return all, err
}

// goProse passes each comment of a file, and each text in it of three words or more.
func goProse(f *ast.File, add func(kind, text string)) {
	for _, group := range f.Comments {
		add("comments", strings.ReplaceAll(group.Text(), "\t", "    "))
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if s, err := strconv.Unquote(lit.Value); err == nil && strings.Count(s, " ") >= 2 {
				add("messages", s)
			}
		}
		return true
	})
}

var (
	codeSpan = regexp.MustCompile("`[^`]*`")
	mdLink   = regexp.MustCompile(`\]\([^)]*\)`)
	mdItem   = regexp.MustCompile(`^(?:#|[-*] |\d+\. )`)
)

// paragraphs are the prose of a Markdown document: items of lists and cells of tables are
// paragraphs, code blocks are omitted, and a code span is one word.
func paragraphs(doc string) []string {
	var all, now []string
	end := func() {
		all, now = append(all, strings.Join(now, " ")), nil
	}
	code := false
	for line := range strings.SplitSeq(doc, "\n") {
		text := mdLink.ReplaceAllString(codeSpan.ReplaceAllString(strings.TrimSpace(line), "CODE"), "]")
		switch {
		case strings.HasPrefix(strings.TrimSpace(line), "```"):
			code = !code
			end()
		case code, text == "", strings.HasPrefix(line, "    "):
			end()
		case strings.HasPrefix(text, "|"):
			end()
			all = append(all, strings.Split(strings.Trim(text, "|"), "|")...)
		case mdItem.MatchString(text):
			end()
			now = append(now, strings.TrimLeft(text, "#-* "))
		default:
			now = append(now, text)
		}
	}
	end()
	return all
}
