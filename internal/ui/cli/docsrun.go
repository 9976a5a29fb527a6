package cli

import (
	"strings"

	"fettle.dev/fettle/internal/ui/render"
)

// listRunDocs names the actions and commands, each with its parameters.
func (s *session) listRunDocs(doc docsDoc) {
	var pairs []render.Pair
	for _, a := range doc.Actions {
		pairs = append(pairs, render.Pair{Name: "  " + join(a.called(), usage(a.Params)), Value: orAsItSays(a.Doc)})
	}
	s.docsSection("Actions, for fettle run (fettle docs ACTION):", pairs)
	pairs = nil
	for _, c := range doc.Commands {
		pairs = append(pairs, render.Pair{Name: "  " + join(c.Name, usage(c.Params)), Value: orAsItSays(c.Doc)})
	}
	s.docsSection("Commands, for fettle run (fettle docs COMMAND):", pairs)
}

func (s *session) docsHead(name, doc string) {
	s.printf("%s\n\n", name)
	s.style().Paragraphs(s.app.Stdout, doc)
}

// docsSection prints a part of the reference, or nothing if the part is empty.
func (s *session) docsSection(title string, pairs []render.Pair) {
	if len(pairs) == 0 {
		return
	}
	s.printf("%s\n", title)
	s.style().Pairs(s.app.Stdout, pairs)
	s.printf("\n")
}

// orAsItSays replaces a missing description.
func orAsItSays(text string) string {
	if text == "" {
		return "(no description)"
	}
	return text
}

func (s *session) showRunDocs(doc docsDoc) {
	for i, a := range doc.Actions { // modules may have actions of one name
		if i > 0 {
			s.printf("\n")
		}
		s.docsHead(a.called(), orAsItSays(a.Doc))
		s.showParams(a.Params)
		s.printf("\nRun it: %s\n", join("fettle run -t TARGET", a.called(), usage(a.Params)))
		if a.Source != builtIn {
			s.printf("Declared at %s; %s.\n", a.Source, whoHas(a.Targets))
		}
	}
	for _, c := range doc.Commands {
		s.docsHead(c.Name, orAsItSays(c.Doc))
		s.showParams(c.Params)
		s.printf("\nParts: %s.\n\nRun it: %s\n", strings.Join(c.Parts, ", "), join("fettle run", c.Name, usage(c.Params)))
		if c.Source != builtIn {
			s.printf("Declared at %s.\n", c.Source)
		}
	}
}

// whoHas are the targets of an action in a sentence.
func whoHas(targets []string) string {
	if len(targets) == 0 {
		return "no target has it"
	}
	return "on " + someNames(targets)
}

func (s *session) showParams(params []paramDoc) {
	var attrs []attrDoc
	for _, p := range params {
		d := attrDoc{Name: p.Name, Type: p.Type, Required: p.Required, Default: p.Default, Doc: p.Doc}
		if p.Secret {
			d.Type += ", secret"
		}
		attrs = append(attrs, d)
	}
	s.showAttrs("Parameters:", attrs)
}
