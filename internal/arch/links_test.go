package arch

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"
)

// linkPattern finds the target of [text](target) and ![alt](target).
var linkPattern = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// checkLinks: every relative link in a document leads to a file that is there,
// and to a heading that is there where it names one.
func checkLinks(dir string) []string {
	var broken []string
	err := walk(dir, ".md", func(name string, text []byte) {
		for i, line := range outsideCode(string(text)) {
			for _, m := range linkPattern.FindAllStringSubmatch(line, -1) {
				if why := dead(dir, name, m[1]); why != "" {
					broken = append(broken, fmt.Sprintf("%s:%d: the link to %s leads nowhere: %s", name, i+1, m[1], why))
				}
			}
		}
	})
	if err != nil {
		return []string{err.Error()}
	}
	return broken
}

// dead says why a link leads nowhere, "" when it does not or is not ours.
func dead(dir, from, link string) string {
	if strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:") {
		return ""
	}
	file, anchor, _ := strings.Cut(link, "#")
	to := path.Join(path.Dir(from), file)
	if file == "" {
		to = from
	}
	st, err := os.Stat(filepath.Join(dir, filepath.FromSlash(to)))
	if err != nil {
		return "there is no " + to
	}
	if anchor == "" || st.IsDir() {
		return ""
	}
	text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(to)))
	if err != nil {
		return err.Error()
	}
	switch headings(string(text))[anchor] {
	case 0:
		return to + " has no heading #" + anchor
	case 1:
		return ""
	}
	return to + " has several headings #" + anchor + ", and the link leads to the first; rename one"
}

// outsideCode gives the lines of a document, those of fenced blocks empty.
func outsideCode(text string) []string {
	lines := strings.Split(text, "\n")
	fenced := false
	for i, l := range lines {
		fence := strings.HasPrefix(strings.TrimSpace(l), "```")
		if fence || fenced {
			lines[i] = ""
		}
		fenced = fenced != fence
	}
	return lines
}

// headings counts the headings of a document by anchor, as the usual renderers name them.
func headings(text string) map[string]int {
	out := map[string]int{}
	for _, l := range outsideCode(text) {
		title := strings.TrimLeft(l, "#")
		if title == l || !strings.HasPrefix(title, " ") {
			continue
		}
		out[anchorOf(strings.TrimSpace(title))]++
	}
	return out
}

func anchorOf(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		case r == ' ':
			return '-'
		}
		return -1
	}, title)
}
