package repository

import (
	"strings"

	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/once"
	"fettle.dev/fettle/internal/ui/render"
)

// listRunDocs names the actions and commands, each with its parameters.
func listRunDocs(s *cli.Printer, doc DocsDoc) {
	var pairs []render.Pair
	for _, a := range doc.Actions {
		pairs = append(pairs, render.Pair{Name: "  " + cli.JoinWords(a.Called(), once.Usage(a.Params)),
			Value: orAsItSays(a.Doc)})
	}
	docsSection(s, "Actions, for fettle run (fettle docs ACTION):", pairs)
	pairs = nil
	for _, c := range doc.Commands {
		pairs = append(pairs, render.Pair{Name: "  " + cli.JoinWords(c.Name, once.Usage(c.Params)), Value: orAsItSays(c.Doc)})
	}
	docsSection(s, "Commands, for fettle run (fettle docs COMMAND):", pairs)
}

func docsHead(s *cli.Printer, name, doc string) {
	s.Printf("%s\n\n", name)
	s.Style().Paragraphs(s.App.Stdout, doc)
}

// docsSection prints a part of the reference, or nothing if the part is empty.
func docsSection(s *cli.Printer, title string, pairs []render.Pair) {
	if len(pairs) == 0 {
		return
	}
	s.Printf("%s\n", title)
	s.Style().Pairs(s.App.Stdout, pairs)
	s.Printf("\n")
}

// orAsItSays replaces a missing description.
func orAsItSays(text string) string {
	if text == "" {
		return "(no description)"
	}
	return text
}

func showRunDocs(s *cli.Printer, doc DocsDoc) {
	for i, a := range doc.Actions { // modules may have actions of one name
		if i > 0 {
			s.Printf("\n")
		}
		docsHead(s, a.Called(), orAsItSays(a.Doc))
		showParams(s, a.Params)
		s.Printf("\nRun it: %s\n", cli.JoinWords("fettle run -t TARGET", a.Called(), once.Usage(a.Params)))
		if a.Source != once.BuiltIn {
			s.Printf("Declared at %s; %s.\n", a.Source, whoHas(a.Targets))
		}
	}
	for _, c := range doc.Commands {
		docsHead(s, c.Name, orAsItSays(c.Doc))
		showParams(s, c.Params)
		s.Printf("\nParts: %s.\n\nRun it: %s\n", strings.Join(c.Parts, ", "),
			cli.JoinWords("fettle run", c.Name, once.Usage(c.Params)))
		if c.Source != once.BuiltIn {
			s.Printf("Declared at %s.\n", c.Source)
		}
	}
}

// whoHas are the targets of an action in a sentence.
func whoHas(targets []string) string {
	if len(targets) == 0 {
		return "no target has it"
	}
	return "on " + once.SomeNames(targets)
}

func showParams(s *cli.Printer, params []once.ParamDoc) {
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

func showAttrs(s *cli.Printer, title string, attrs []attrDoc) {
	if len(attrs) == 0 {
		return
	}
	s.Printf("\n%s\n", title)
	var pairs []render.Pair
	for _, a := range attrs {
		notes := []string{a.Type}
		if a.Required {
			notes = append(notes, "required")
		}
		if a.Default != "" {
			notes = append(notes, "default "+a.Default)
		}
		if len(a.OneOf) > 0 {
			notes = append(notes, "one of "+strings.Join(a.OneOf, ", "))
		}
		text := a.Doc
		if note := strings.Trim(strings.Join(notes, "; "), "; "); note != "" {
			text = cli.JoinWords(text, "("+note+")")
		}
		pairs = append(pairs, render.Pair{Name: "  " + a.Name, Value: text})
	}
	s.Style().Pairs(s.App.Stdout, pairs)
}
