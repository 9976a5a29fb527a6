package repository

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/fleet/selection"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/schema"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/once"
	"fettle.dev/fettle/internal/ui/render"
)

// DocsDoc describes kinds, the other blocks of the language, verbs, and the actions and commands of
// fettle run.
type DocsDoc struct {
	Format   string            `json:"format"` // fettle.docs/2
	Kinds    []kindDoc         `json:"kinds"`
	Blocks   []blockDoc        `json:"blocks"`
	Verbs    []verbDoc         `json:"verbs"`
	Actions  []once.ActionDoc  `json:"actions"`
	Commands []once.CommandRow `json:"commands"`
}

type blockDoc struct {
	Name   string    `json:"name"`
	Label  string    `json:"label,omitempty"` // its meaning; "" for a block without a label
	Doc    string    `json:"doc"`
	Attrs  []attrDoc `json:"attrs"`
	Inside []string  `json:"inside,omitempty"` // blocks that it may hold
}

type kindDoc struct {
	Name      string    `json:"name"`
	Doc       string    `json:"doc"`
	Main      string    `json:"main,omitempty"` // the attribute that the label sets
	Attrs     []attrDoc `json:"attrs"`
	Actions   []attrDoc `json:"actions,omitempty"`
	Outputs   []attrDoc `json:"outputs,omitempty"`   // values that it provides in addition to its attributes
	Directory string    `json:"directory,omitempty"` // of a repository's own: where it is known, "." for everywhere
	Source    string    `json:"source,omitempty"`    // file:line of a repository's own
}

type attrDoc struct {
	Name     string   `json:"name"`
	Type     string   `json:"type,omitempty"`
	Required bool     `json:"required,omitempty"`
	Default  string   `json:"default,omitempty"`
	OneOf    []string `json:"one_of,omitempty"`
	Doc      string   `json:"doc"`
}

type verbDoc struct {
	Name string    `json:"name"`
	Args []string  `json:"args"`
	Doc  string    `json:"doc"`
	Keys []attrDoc `json:"keys"`
}

// NewDocs builds the command docs, to show the reference of the language, of actions and of
// commands.
func NewDocs(s *cli.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "docs [KIND|BLOCK|VERB|ACTION|COMMAND|WORD]",
		Short: "Show the reference of the language, of actions and of commands",
		Long: `Shows the reference of kinds, blocks, verbs, actions and commands. In a
repository, it also contains the kinds that the repository defines, with the
descriptions of their variables and outputs. It also contains the actions and
commands of fettle run, with their parameters. "fettle docs targets" describes
the argument of -t.

If nothing has the name, it lists every kind, block, verb, action and command
whose description or attributes contain the word.`,
		Example: "  fettle docs\n  fettle docs file\n  fettle docs firewall\n  fettle docs target_group\n  fettle docs COPY\n  fettle docs targets",
		Args:    cli.Args(0, 1),
		RunE: func(c *cobra.Command, a []string) error {
			if len(a) == 1 && a[0] == "targets" && !s.JSON {
				s.Printf("%s", selection.Grammar)
				return nil
			}
			return s.Paged(c.Context(), func() error { return runDocs(c.Context(), s, a) })
		},
	}
}

func runDocs(ctx context.Context, s *cli.Session, names []string) error {
	doc := docs(ctx, s)
	if len(names) == 1 {
		return showAnswer(s.Printer, doc, names[0])
	}
	if s.JSON {
		return s.Document(doc)
	}
	listDocs(s.Printer, doc)
	return nil
}

func docs(ctx context.Context, s *cli.Session) DocsDoc {
	doc := emptyDocs("fettle.docs/2")
	own, all := ownDocs(ctx, s)
	var run once.ActionsDoc
	run.List(all, nil)
	doc.Actions, doc.Commands = run.Actions, run.Commands
	for _, k := range s.App.Language.Kinds() {
		doc.Kinds = append(doc.Kinds, describeKind(k))
	}
	doc.Kinds = append(doc.Kinds, own...)
	for _, b := range schema.Blocks() {
		doc.Blocks = append(doc.Blocks, blockDoc{b.Name, b.Label, b.Doc, describeAttrs(b.Attrs), b.Inside})
	}
	for _, v := range step.Schemas() {
		d := verbDoc{Name: string(v.Verb), Args: v.Args, Doc: v.Doc, Keys: []attrDoc{}}
		for _, k := range v.Keys {
			d.Keys = append(d.Keys, attrDoc{Name: k.Name, Doc: k.Doc})
		}
		doc.Verbs = append(doc.Verbs, d)
	}
	return doc
}

// ownDocs returns the kinds of the current repository, and its actions and commands. Outside of a
// repository, or with configuration errors, only the built-in ones are explained.
func ownDocs(ctx context.Context, s *cli.Session) (kinds []kindDoc, all query.Runnable) {
	src, err := s.OpenSource(ctx, s.Rev)
	if err != nil {
		return nil, all
	}
	defer src.Repo.Close()
	all, _ = once.Runnable(s.Printer, src)
	own, _ := compile.Ask(s.App.Language.Queries, compile.OwnKindsQuery{About: src.About()})
	for _, k := range own {
		d := describeKind(k.Kind)
		d.Directory, d.Source = k.Directory, cli.PlaceText(k.Range)
		kinds = append(kinds, d)
	}
	return kinds, all
}

func describeKind(k kind.Kind) kindDoc {
	d := kindDoc{Name: k.Name, Doc: strings.TrimSpace(k.Doc), Main: k.Main, Attrs: describeAttrs(k.Attrs)}
	for _, a := range k.Outputs {
		d.Outputs = append(d.Outputs, attrDoc{Name: a.Name, Doc: a.Doc})
	}
	for _, a := range k.Actions {
		d.Actions = append(d.Actions, attrDoc{Name: a.Name, Doc: a.Doc})
	}
	return d
}

func describeAttrs(attrs []kind.Attr) []attrDoc {
	out := []attrDoc{}
	for _, a := range attrs {
		out = append(out, attrDoc{a.Name, typeName(a.Type), a.Required, defaultText(a.Default), a.OneOf, a.Doc})
	}
	return out
}

// typeName is a type as it is written in the language.
func typeName(t cty.Type) string {
	switch {
	case t == cty.NilType:
		return ""
	case t == cty.DynamicPseudoType:
		return "any"
	case t.IsListType():
		return "list(" + typeName(t.ElementType()) + ")"
	case t.IsSetType():
		return "set(" + typeName(t.ElementType()) + ")"
	case t.IsMapType():
		return "map(" + typeName(t.ElementType()) + ")"
	}
	return t.FriendlyName()
}

func defaultText(v cty.Value) string {
	if v == cty.NilVal || v.IsNull() || !v.IsKnown() {
		return ""
	}
	switch v.Type() {
	case cty.String:
		return fmt.Sprintf("%q", v.AsString())
	case cty.Bool:
		return fmt.Sprint(v.True())
	case cty.Number:
		return v.AsBigFloat().Text('f', -1)
	}
	return ""
}

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

// about returns the part of a doc with a name.
func (d DocsDoc) about(name string) (out DocsDoc, found bool) {
	out = emptyDocs(d.Format)
	for _, k := range d.Kinds {
		if k.Name == name {
			out.Kinds, found = append(out.Kinds, k), true
		}
	}
	for _, b := range d.Blocks {
		if b.Name == name && !found {
			out.Blocks, found = append(out.Blocks, b), true
		}
	}
	for _, v := range d.Verbs {
		if v.Name == strings.ToUpper(name) && !found {
			out.Verbs, found = append(out.Verbs, v), true
		}
	}
	if found {
		return out, true
	}
	for _, a := range d.Actions {
		if a.Name == name || a.Called() == name {
			out.Actions, found = append(out.Actions, a), true
		}
	}
	for _, c := range d.Commands {
		if c.Name == name {
			out.Commands, found = append(out.Commands, c), true
		}
	}
	return out, found
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
