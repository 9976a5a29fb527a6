package histories

import (
	"fmt"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"

	"fettle.dev/fettle/test/histories/judge"
)

// Case is one history. It has a text form, and everything that happens follows from it.
type Case struct {
	Note  string     // why it is recorded
	Host  []string   // what is there before, a line each
	Lists [][]string // lists of steps; the first one is number 1
	Ops   []string   // operations, a line each
}

// contents are what files have, by the name that COPY and the script use. They suit
// lists that edit lines, INI and JSON.
func contents() map[string]string {
	return map[string]string{
		"c0": "content zero\n", "c1": "content one, longer\n", "c2": "a=1\nb=2\n", "c3": "a=9\n# a comment\nz=1\n",
		"i0": "[s]\nk = 1\n", "i1": "top=1\n[s]\nk=2\nother = 3\n", "j0": "{\"a\": {\"b\": 1}}\n",
		"j1": "{\n  \"x\": [1, 2],\n  \"a\": {\"c\": true}\n}\n",
		"e0": "", "h0": "by hand zero\n", "h1": "a=hand\nby hand one\n", "h2": "[s]\nk = hand\n",
		"h3": "{\"a\": {\"b\": \"hand\"}, \"h\": 1}\n", "h4": "no line end",
	}
}

// String is the script of a case.
func (c Case) String() string {
	a := &txtar.Archive{Comment: []byte(c.Note)}
	add := func(name string, lines []string) {
		a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(strings.Join(append(lines, ""), "\n"))})
	}
	add("host", c.Host[:len(c.Host):len(c.Host)])
	for i, l := range c.Lists {
		add(fmt.Sprint(i+1), l[:len(l):len(l)])
	}
	add("history", c.Ops[:len(c.Ops):len(c.Ops)])
	return string(txtar.Format(a))
}

// ParseCase reads a script.
func ParseCase(text []byte) (Case, error) {
	a := txtar.Parse(text)
	c := Case{Note: string(a.Comment)}
	for _, f := range a.Files {
		var lines []string
		for line := range strings.Lines(string(f.Data)) {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
				lines = append(lines, line)
			}
		}
		switch f.Name {
		case "host":
			c.Host = lines
		case "history":
			c.Ops = lines
		case fmt.Sprint(len(c.Lists) + 1):
			if _, err := judge.Parse(string(f.Data)); err != nil {
				return c, err
			}
			c.Lists = append(c.Lists, lines)
		default:
			return c, fmt.Errorf("there is a section %q", f.Name)
		}
	}
	return c, nil
}
