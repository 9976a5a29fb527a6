// Package selection parses and evaluates selections, which are the arguments of -t.
//
//	s, err := selection.Parse([]string{"web*", "group:berlin&label:env=prod", "!web2"})
//	files := s.Files()                                  // what the caller has to read
//	chosen, err := s.Choose(inventory, selection.Given{Files: texts, Failed: names})
//
// Grammar describes the syntax for users. The package is pure: the same arguments and the same
// inventory select the same targets, in the same order.
package selection

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/lang/query"
)

// Selection is a parsed selection. The zero value selects every target.
type Selection struct {
	words []string // the arguments
	terms []term
}

// Given contains the external inputs of a selection.
type Given struct {
	// Failed are the names of the targets for @failed. Names that are not in the inventory are
	// ignored.
	Failed []string
	// Files are the contents of the files after @, by the names that Selection.Files returns.
	Files map[string]string
}

// Parse parses the arguments of -t. Several arguments have the same effect as one argument with
// commas. No argument selects all targets. Errors name the wrong part and the remedy.
func Parse(words []string) (Selection, error) {
	s := Selection{words: slices.Clone(words)}
	for _, word := range words {
		terms, err := parse(word, true)
		if err != nil {
			return Selection{}, fmt.Errorf("cannot select %q: %w", shortened(word), err)
		}
		s.terms = append(s.terms, terms...)
	}
	return s, nil
}

// Files returns the names of the files that the caller must read, sorted and without duplicates.
func (s Selection) Files() []string { return s.behind(atFile) }

// Failed reports whether the selection contains @failed.
func (s Selection) Failed() bool { return len(s.behind(atFailed)) > 0 }

func (s Selection) behind(what subject) []string {
	var out []string
	for _, t := range s.terms {
		for _, f := range t {
			if f.what == what {
				out = append(out, f.text)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// String returns the selection as one argument.
func (s Selection) String() string { return strings.Join(s.words, ",") }

// Choose returns the selected targets, sorted by name. A name without * ? [ { must exist. Its error
// contains all missing names. An empty result is an error too, which lists the available names. It
// does not modify the inventory.
func (s Selection) Choose(inventory []query.Target, g Given) ([]query.Target, error) {
	e := newEvaluation(inventory, g)
	chosen := e.terms(s.terms)
	if err := e.err(); err != nil {
		return nil, err
	}
	var out []query.Target
	for i, t := range e.targets {
		if chosen.has(i) {
			out = append(out, t)
		}
	}
	if len(out) == 0 {
		return nil, s.nothing(e)
	}
	return out, nil
}

// Means reports whether one target is selected, independently of other targets. Names that do not
// exist are not an error here.
func (s Selection) Means(t query.Target) bool {
	return newEvaluation([]query.Target{t}, Given{}).terms(s.terms).has(0)
}

// nothing returns the error for an empty result.
func (s Selection) nothing(e *evaluation) error {
	switch {
	case len(e.targets) == 0:
		return errors.New("cannot select a target: the inventory is empty")
	case s.Failed() && len(s.terms) == 1 && len(s.terms[0]) == 1:
		return errors.New("cannot select @failed: no target of the inventory failed in the last run")
	}
	return fmt.Errorf("cannot select %q: no target matches. %s", shortened(s.String()), overview(e.targets))
}
