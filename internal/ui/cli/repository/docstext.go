package repository

import (
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

func listDocs(s *cli.Printer, doc DocsDoc) {
	var kinds, blocks, verbs []render.Pair
	for _, k := range doc.Kinds {
		first := firstSentence(k.Doc)
		if k.Directory != "" && k.Directory != "." {
			first = cli.JoinWords(first, "("+k.Directory+")")
		}
		kinds = append(kinds, render.Pair{Name: "  " + k.Name, Value: cli.JoinWords(first, "")})
	}
	docsSection(s, "Kinds of states (fettle docs KIND):", kinds)
	for _, b := range doc.Blocks {
		blocks = append(blocks, render.Pair{Name: "  " + b.Name, Value: firstSentence(b.Doc)})
	}
	docsSection(s, "Other blocks (fettle docs BLOCK):", blocks)
	for _, v := range doc.Verbs {
		verbs = append(verbs, render.Pair{Name: "  " + v.Name, Value: firstSentence(v.Doc)})
	}
	docsSection(s, "Verbs of steps (fettle docs VERB):", verbs)
	listRunDocs(s, doc)
}

func showAnswer(s *cli.Printer, all DocsDoc, name string) error {
	doc, found := all.about(name)
	if !found {
		if doc, found = all.search(name); !found {
			return cli.Refuse(cli.JoinWords(all.suggestion(name), "List all: fettle docs"),
				fmt.Sprintf("no kind, block, verb, action or command is called %q or mentions it", name))
		}
		if !s.JSON {
			listDocs(s, doc)
			return nil
		}
	}
	if s.JSON {
		return s.Document(doc)
	}
	for i, k := range doc.Kinds { // modules may have kinds of one name
		if i > 0 {
			s.Printf("\n")
		}
		showKind(s, k)
	}
	for _, b := range doc.Blocks {
		showBlock(s, b)
	}
	for _, v := range doc.Verbs {
		showVerb(s, v)
	}
	showRunDocs(s, doc)
	return nil
}

func showKind(s *cli.Printer, k kindDoc) {
	docsHead(s, k.Name, k.Doc)
	if k.Main != "" {
		s.Printf("\nThe label sets %q by default.\n", k.Main)
	}
	showAttrs(s, "Attributes:", k.Attrs)
	showAttrs(s, "Gives:", k.Outputs)
	showAttrs(s, "Actions, for notify:", k.Actions)
	if k.Source != "" {
		s.Printf("\nDefined at %s.\n", k.Source)
	}
}

func showBlock(s *cli.Printer, b blockDoc) {
	docsHead(s, b.Name, b.Doc)
	if b.Label != "" {
		s.Printf("\nLabel: %s.\n", b.Label)
	}
	showAttrs(s, "Attributes:", b.Attrs)
	if len(b.Inside) > 0 {
		s.Printf("\nHolds: %s.\n", strings.Join(b.Inside, ", "))
	}
}

func showVerb(s *cli.Printer, v verbDoc) {
	docsHead(s, cli.JoinWords(v.Name, strings.Join(v.Args, " ")), v.Doc)
	showAttrs(s, "Keys:", v.Keys)
}
