package cli

import (
	"strings"

	"fettle.dev/fettle/internal/ui/render"
)

// listRunDocs names the actions and commands, each with its parameters.
func listRunDocs(s *printer, doc docsDoc) {
	var pairs []render.Pair
	for _, a := range doc.Actions {
		pairs = append(pairs, render.Pair{Name: "  " + join(a.called(), usage(a.Params)), Value: orAsItSays(a.Doc)})
	}
	docsSection(s, "Actions, for fettle run (fettle docs ACTION):", pairs)
	pairs = nil
	for _, c := range doc.Commands {
		pairs = append(pairs, render.Pair{Name: "  " + join(c.Name, usage(c.Params)), Value: orAsItSays(c.Doc)})
	}
	docsSection(s, "Commands, for fettle run (fettle docs COMMAND):", pairs)
}

func docsHead(s *printer, name, doc string) {
	s.printf("%s\n\n", name)
	s.style().Paragraphs(s.app.Stdout, doc)
}

// docsSection prints a part of the reference, or nothing if the part is empty.
func docsSection(s *printer, title string, pairs []render.Pair) {
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

func showRunDocs(s *printer, doc docsDoc) {
	for i, a := range doc.Actions { // modules may have actions of one name
		if i > 0 {
			s.printf("\n")
		}
		docsHead(s, a.called(), orAsItSays(a.Doc))
		showParams(s, a.Params)
		s.printf("\nRun it: %s\n", join("fettle run -t TARGET", a.called(), usage(a.Params)))
		if a.Source != builtIn {
			s.printf("Declared at %s; %s.\n", a.Source, whoHas(a.Targets))
		}
	}
	for _, c := range doc.Commands {
		docsHead(s, c.Name, orAsItSays(c.Doc))
		showParams(s, c.Params)
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

func showParams(s *printer, params []paramDoc) {
	var attrs []attrDoc
	for _, p := range params {
		d := attrDoc{Name: p.Name, Type: p.Type, Required: p.Required, Default: p.Default, Doc: p.Doc}
		if p.Secret {
			d.Type += ", secret"
		}
		attrs = append(attrs, d)
	}
	showAttrs(s, "Parameters:", attrs)
}
