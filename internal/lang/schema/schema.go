// Package schema describes files of the YAML and JSON forms for other programs: as a JSON Schema
// made of the schemas that check states. An editor can then complete and check files as fettle
// does.
//
//	text := schema.Document(schema.Module, kinds)
//
// The schema covers structure: existing blocks and attributes, required attributes, and values of
// attributes. A text with ${…} can have any value, so it is valid everywhere. Only fettle
// validate checks conditions that need the whole repository, such as references to states.
package schema

import (
	"encoding/json"

	"fettle.dev/fettle/internal/kind"
)

// Part is the part of a repository that a schema describes.
type Part string

// The parts of a repository. They differ in their content outside of any block.
const (
	Repository Part = "repository" // files at the top
	Module     Part = "module"     // files of a module
	Tests      Part = "tests"      // files of tests
)

// Parts are all of them, the usual one first.
func Parts() []Part { return []Part{Repository, Module, Tests} }

// object is one schema.
type object = map[string]any

// Document returns the JSON Schema, of the draft 2020-12, for the files of a part and states of
// these kinds. Kinds with the same name are alternatives. The same kinds in the same order give the
// same bytes. It ends with a newline.
func Document(part Part, kinds []kind.Kind) []byte {
	w := &writer{defs: object{"references": references()}, states: object{}}
	if part != Tests {
		w.kinds(kinds)
		for _, a := range metaAttrs(true, nil) {
			w.defs["state."+a.Name] = attribute(a)
		}
	}
	w.body("top", part.top(), part != Tests)
	doc := object{
		"$schema":     "https://json-schema.org/draft/2020-12/schema",
		"title":       part.title(),
		"description": "Made by fettle schema " + string(part) + ".",
		"$ref":        "#/$defs/top",
		"$defs":       w.defs,
	}
	text, err := json.MarshalIndent(doc, "", "  ")
	if err != nil { // maps, lists and texts alone: that has a text
		return nil
	}
	return append(text, '\n')
}

func (p Part) title() string {
	switch p {
	case Module:
		return "A file of a module of fettle"
	case Tests:
		return "A file of tests of fettle"
	}
	return "A file at the top of a repository of fettle"
}

// top describes the content outside of any block.
func (p Part) top() Block {
	switch p {
	case Module:
		return Block{Inside: append(moduleBlocks(), "action", "exported", "lookup", "needs", "output")}
	case Tests:
		return Block{Inside: []string{"test"}}
	}
	return Block{Inside: append(moduleBlocks(), "action", "command", "enrolled", "lookup", "policy", "role", "ssh", "target", "target_group"), Attrs: topAttrs()}
}

// moduleBlocks are the blocks, but for states, that modules and the top have.
func moduleBlocks() []string { return []string{"block", "define", "fact", "locals", "variable"} }
