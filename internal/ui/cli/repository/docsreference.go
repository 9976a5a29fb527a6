package repository

import (
	"context"
	"fmt"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/schema"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/once"
)

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
