package arch

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// Limits of a document: the words of its sentences, on average and of nine tenths of them, and the
// columns of a line of text.
const (
	averageWords = 20
	mostWords    = 30
	textColumns  = 120
)

// oneLineEach are documents with one line for each text: programs write all but the changelog.
var oneLineEach = []string{"CHANGELOG.md", "docs/kinds.md", "docs/performance.md", "docs/performance-hosts.md",
	"docs/performance-fleet.md"}

// TestLengths: sentences of documents are short, and lines of text fit beside each other.
func TestLengths(t *testing.T) {
	err := walk("../..", ".md", func(name string, text []byte) {
		report(t, longSentences(name, string(text)))
		if !slices.Contains(oneLineEach, name) {
			report(t, wideLines(name, string(text)))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

var fullStop = regexp.MustCompile(`[.!?](?:["')*_]*)(?:\s+|$)`)

// wordsOfSentences returns the number of words of each sentence, ascending. Cells of tables and
// other texts without a full stop are not sentences.
func wordsOfSentences(doc string) (words []int) {
	for _, p := range paragraphs(doc) {
		text := strings.Join(strings.Fields(p), " ")
		begin := 0
		for _, end := range fullStop.FindAllStringIndex(text, -1) {
			words = append(words, len(strings.Fields(text[begin:end[1]])))
			begin = end[1]
		}
	}
	slices.Sort(words)
	return words
}

func longSentences(name, doc string) []string {
	words := wordsOfSentences(doc)
	if len(words) == 0 {
		return nil
	}
	sum := 0
	for _, n := range words {
		sum += n
	}
	average, ninth := float64(sum)/float64(len(words)), words[len(words)*9/10]
	if average > averageWords || ninth > mostWords {
		return []string{fmt.Sprintf(
			"%s: sentences have %.1f words on average, at most %d; nine tenths have up to %d, at most %d", name,
			average, averageWords, ninth, mostWords)}
	}
	return nil
}

// wideLines are the lines of text beyond the limit. Tables and code cannot be broken.
func wideLines(name, doc string) (broken []string) {
	for i, line := range outsideCode(doc) {
		if n := utf8.RuneCountInString(line); n > textColumns && !strings.HasPrefix(line, "|") &&
			strings.Contains(line[:textColumns], " ") {
			broken = append(broken, fmt.Sprintf("%s:%d: the line has %d columns, and %d are the limit", name, i+1, n,
				textColumns))
		}
	}
	return broken
}

// TestLengthsAreFound: a document with long sentences, or with a wide line, is found.
func TestLengthsAreFound(t *testing.T) {
	long := strings.Repeat("word ", averageWords) + "end.\n"
	if got := longSentences("a.md", "# title\n\n| "+long+" |\n\n"+long+"\n"+long); len(got) != 1 {
		t.Errorf("found %q in long sentences", got)
	}
	mostly := strings.Repeat("One two.\n\n", 8) + strings.Repeat(strings.Repeat("word ", mostWords)+"end.\n\n", 2)
	if got := longSentences("b.md", mostly); len(got) != 1 {
		t.Errorf("found %q where a fifth of the sentences is long", got)
	}
	if got := longSentences("c.md", "One two three.\n"+strings.Repeat("Short. ", 20)); len(got) != 0 {
		t.Errorf("found %q in short sentences", got)
	}
	wide := strings.Repeat("word ", textColumns/4)
	if got := wideLines("d.md", "short\n"+wide+"\n\n| "+wide+" |\n\n```\n"+wide+"\n```\n"); len(got) != 1 ||
		!strings.HasPrefix(got[0], "d.md:2:") {
		t.Errorf("found %q, want line 2", got)
	}
}
