package commands

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

// shownLine is a command line of fettle that a user can read somewhere.
type shownLine struct {
	where string
	words []string // without the leading "fettle"
	whole bool     // a line to type, not only a command's name in a sentence
}

// linesOfDocuments reads the fenced blocks and code spans of all Markdown files.
// docs/cli.md is made from the help texts, which linesOfHelp reads.
func linesOfDocuments(t *testing.T, root string) []shownLine {
	var out []shownLine
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".md") || strings.HasSuffix(path, "docs/cli.md") ||
			strings.HasSuffix(path, "CHANGELOG.md") {
			return err
		}
		text, err := os.ReadFile(path)
		out = append(out, linesOfDocument(path, string(text))...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func linesOfDocument(path, text string) []shownLine {
	var out []shownLine
	fence := ""
	for i, line := range strings.Split(text, "\n") {
		where := fmt.Sprintf("%s:%d", path, i+1)
		mark, isFence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case isFence && fence == "":
			fence = "```" + mark
		case isFence:
			fence = ""
		case fence == "":
			out = append(out, linesInSpans(where, line)...)
		case fence == "```console":
			if typed, ok := strings.CutPrefix(line, "$ "); ok {
				out = append(out, linesInShell(where, typed)...)
			}
		case fence == "```sh" || fence == "```":
			out = append(out, linesInShell(where, line)...)
		}
	}
	return out
}

var codeSpan = regexp.MustCompile("`((?:sudo )?fettle [^`]+)`")

func linesInSpans(where, text string) []shownLine {
	var out []shownLine
	for _, m := range codeSpan.FindAllStringSubmatch(text, -1) {
		for _, l := range linesInShell(where, m[1]) {
			l.whole = false
			out = append(out, l)
		}
	}
	return out
}

// beforeFettle are commands that run the command that follows them.
var beforeFettle = map[string]bool{"sudo": true, "env": true, "exec": true, "time": true, "nohup": true,
	"watch": true, "!": true}

// linesInShell finds the calls of fettle in one line of shell. A synopsis is no
// shell: its brackets, dots and alternatives are read by plainSynopsis.
func linesInShell(where, line string) []shownLine {
	file, err := syntax.NewParser().Parse(strings.NewReader(line), "")
	if err != nil || strings.HasSuffix(line, `\`) || strings.Contains(line, "…") || strings.Contains(line, "[--") {
		file, err = syntax.NewParser().Parse(strings.NewReader(plainSynopsis(line)), "")
	}
	if err != nil {
		return nil
	}
	var out []shownLine
	syntax.Walk(file, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok {
			return true
		}
		words := make([]string, len(call.Args))
		for i, w := range call.Args {
			words[i] = wordText(w)
		}
		for len(words) > 0 && beforeFettle[words[0]] {
			words = words[1:]
		}
		if len(words) > 1 && words[0] == "ssh" {
			words = words[2:]
		}
		if len(words) > 0 && (words[0] == "fettle" || strings.HasSuffix(words[0], "/fettle")) {
			out = append(out, shownLine{where, words[1:], true})
		}
		return true
	})
	return out
}

// plainSynopsis leaves out what shows that something is optional or repeats.
func plainSynopsis(line string) string {
	line = strings.TrimSuffix(line, `\`)
	line = regexp.MustCompile(`\[([^\]]*)\]`).ReplaceAllString(line, "$1")
	line = regexp.MustCompile(`([A-Za-z*-]+)\|[A-Za-z|-]+`).ReplaceAllString(line, "$1")
	return strings.ReplaceAll(line, "…", "")
}

// wordText is a word as the command gets it; what the shell puts in is an X.
func wordText(w *syntax.Word) string {
	var b strings.Builder
	var add func(parts []syntax.WordPart)
	add = func(parts []syntax.WordPart) {
		for _, p := range parts {
			switch p := p.(type) {
			case *syntax.Lit:
				b.WriteString(strings.ReplaceAll(p.Value, `\`, ""))
			case *syntax.SglQuoted:
				b.WriteString(p.Value)
			case *syntax.DblQuoted:
				add(p.Parts)
			default:
				b.WriteByte('X')
			}
		}
	}
	add(w.Parts)
	return b.String()
}

// afterFettle finds a command in a sentence: up to what ends it.
var afterFettle = regexp.MustCompile(`(^|[\s"(:'])(?:sudo )?fettle ([a-z][^\n]*)`)

// commandEnd is what ends a command in a sentence.
var commandEnd = regexp.MustCompile(`[,;()"]|[.:]( |$)| — `)

// linesInText finds commands in sentences of help texts and messages. What follows a
// colon up to the end is a whole line, and so is an indented line where indented is set.
func linesInText(where, text string, indented bool) []shownLine {
	var out []shownLine
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if indented && strings.HasPrefix(line, "  ") && !strings.HasPrefix(strings.TrimSpace(line), "-") {
			out = append(out, linesInShell(where, strings.TrimSpace(line))...)
			continue
		}
		m := afterFettle.FindStringSubmatchIndex(line)
		if m == nil {
			continue
		}
		before := strings.TrimSpace(line[:m[4]-len("fettle ")])
		rest := strings.TrimRight(line[m[4]:], `.,;:)"'`)
		end := commandEnd.FindStringIndex(rest)
		whole := end == nil && strings.HasSuffix(strings.TrimSuffix(before, " sudo"), ":")
		if end != nil {
			rest = rest[:end[0]]
		}
		for _, l := range linesInShell(where, "fettle "+rest) {
			l.whole = whole
			out = append(out, l)
		}
	}
	return out
}

// linesOfSource reads the text constants of the packages: hints of errors above all.
func linesOfSource(t *testing.T, root string) []shownLine {
	var out []shownLine
	files := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if e, ok := n.(ast.Expr); ok {
				if text, ok := constantText(e); ok {
					out = append(out, linesInText(files.Position(n.Pos()).String(), text, false)...)
					return false
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

var formatVerb = regexp.MustCompile(`%[-+#0-9.*\[\]]*[a-zA-Z]`)

// constantText is the text of a literal or of a sum of literals and other things,
// each of which is an X.
func constantText(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return formatVerb.ReplaceAllString(text, " X "), e.Kind == token.STRING && err == nil
	case *ast.BinaryExpr:
		left, ok1 := constantText(e.X)
		right, ok2 := constantText(e.Y)
		if e.Op != token.ADD || !ok1 && !ok2 {
			return "", false
		}
		if !ok1 {
			left = " X "
		}
		if !ok2 {
			right = " X "
		}
		return left + right, true
	}
	return "", false
}
