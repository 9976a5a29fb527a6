package once

import (
	"slices"
	"strings"

	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

// PartsDoc describes the effect of a command.
type PartsDoc struct {
	Format  string    `json:"format"` // fettle.parts/1
	Command string    `json:"command"`
	Parts   []partDoc `json:"parts"`
}

type partDoc struct {
	Name      string            `json:"name"`
	Action    string            `json:"action,omitempty"`
	Params    map[string]string `json:"params,omitempty"` // without what is secret
	Argv      [][]string        `json:"argv,omitempty"`
	Targets   []string          `json:"targets"`
	Batch     string            `json:"batch,omitempty"`
	MaxFailed string            `json:"max_failed"`
}

func wouldRunParts(s *cli.Printer, name string, legs []part) error {
	doc := PartsDoc{Format: "fettle.parts/1", Command: name, Parts: []partDoc{}}
	for i, l := range legs {
		doc.Parts = append(doc.Parts, partDoc{l.Name, l.Action, l.shown(), l.Argv, slices.Concat([]string{}, l.on), l.Batch,
			l.MaxFailed})
		limits := ""
		if l.Batch != "" {
			limits += ", batch " + l.Batch
		}
		if l.MaxFailed != "0" {
			limits += ", at most " + l.MaxFailed + " failed"
		}
		s.Printf("Part %d of %d, %s%s, would run on %s\n", i+1, len(legs), l.Name, limits, l.describe())
	}
	if s.JSON {
		return s.Document(doc)
	}
	return nil
}

// describe returns a description of a part: its targets and its command.
func (l part) describe() string {
	text := render.Count(len(l.on), "target") + ", " + SomeNames(l.on) + ": "
	if l.Action == "" {
		var lines []string
		for _, argv := range l.Argv {
			lines = append(lines, cli.WordsText(argv))
		}
		return render.Escape(text + strings.Join(lines, "; "))
	}
	text += l.Action
	shown := l.shown()
	for _, name := range cli.SortedNames(shown) {
		text += " " + cli.WordsText([]string{name + "=" + shown[name]})
	}
	return render.Escape(text)
}

// shown returns the parameters of the action, with masked secrets.
func (l part) shown() map[string]string {
	out := map[string]string{}
	for name, value := range l.Params {
		if out[name] = value; slices.Contains(l.Secret, name) {
			out[name] = "…"
		}
	}
	return out
}
