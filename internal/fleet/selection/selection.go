// Package selection chooses targets: it reads and evaluates what -t takes.
//
//	s, err := selection.Parse([]string{"web*", "group:berlin&label:env=prod", "!web2"})
//	files := s.Files()                                  // what the caller has to read
//	chosen, err := s.Choose(inventory, selection.Given{Files: texts, Failed: names})
//
// Grammar says for people what may be written. Everything here is pure: the same
// words and the same inventory choose the same targets, in the same order.
package selection

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/lang"
)

// Selection is what somebody asked for, read and not yet looked up. The zero
// value chooses every target.
type Selection struct {
	words []string // as they were given
	terms []term
}

// Given is what a selection refers to and cannot know.
type Given struct {
	// Failed are the names of the targets that @failed stands for. Those that
	// are no longer in the inventory do not count.
	Failed []string
	// Files are the texts of the files that stand behind @, by the name that
	// Files gives.
	Files map[string]string
}

// Parse reads words, each of which was given with its own -t; several are one
// with commas between them. No words are every target. Errors name the part that
// is wrong and what to write.
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

// Files are the names of the files that have to be read, sorted, each once.
func (s Selection) Files() []string { return s.behind(atFile) }

// Failed tells whether @failed is a part of it.
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

// String is the selection as one word.
func (s Selection) String() string { return strings.Join(s.words, ",") }

// Choose gives the targets that are meant, sorted by name, each once. What is
// written without * ? [ { has to be there. An error tells everything that is not,
// and that nothing is chosen is an error too, which says what there is. The
// inventory is only read.
func (s Selection) Choose(inventory []lang.Target, g Given) ([]lang.Target, error) {
	e := newEvaluation(inventory, g)
	chosen := e.terms(s.terms)
	if err := e.err(); err != nil {
		return nil, err
	}
	var out []lang.Target
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

// Means tells whether one target is meant, whoever else is there: what names others that have
// gone means none of them, and is no mistake.
func (s Selection) Means(t lang.Target) bool {
	return newEvaluation([]lang.Target{t}, Given{}).terms(s.terms).has(0)
}

// nothing says why no target is left, and what there is.
func (s Selection) nothing(e *evaluation) error {
	switch {
	case len(e.targets) == 0:
		return errors.New("cannot select a target: there is none")
	case s.Failed() && len(s.terms) == 1 && len(s.terms[0]) == 1:
		return errors.New("cannot select @failed: nothing failed that is still there")
	}
	return fmt.Errorf("cannot select %q: no target fits. %s", shortened(s.String()), overview(e.targets))
}
