package repository

import "fettle.dev/fettle/internal/ui/cli/once"

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

func emptyDocs(format string) DocsDoc {
	return DocsDoc{Format: format, Kinds: []kindDoc{}, Blocks: []blockDoc{}, Verbs: []verbDoc{},
		Actions:  []once.ActionDoc{},
		Commands: []once.CommandRow{}}
}
