package child

import (
	"encoding/json"
	"slices"

	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/source"
)

// writeDocument writes a description as JSON.
func writeDocument[A any](w *writer, doc A) {
	text, err := json.Marshal(doc)
	if err != nil {
		text = nil // texts and numbers can be written
	}
	w.text(string(text))
}

func readDocument[A any](r *reader) (doc A) {
	if text := r.bytes(); r.err == nil {
		if err := json.Unmarshal(text, &doc); err != nil {
			r.fail("a document: %v", err)
		}
	}
	return doc
}

func readJSON(r *reader) []byte {
	text := r.bytes()
	if !json.Valid(text) {
		r.fail("a schema that is not a JSON document")
	}
	return text
}

// readStrategies checks that the names are unique and that the values are valid.
func readStrategies(r *reader) []query.Strategy {
	return readNamed(r, "rollout", func(s query.Strategy) (string, error) { return s.Name, s.Valid() })
}

// readLocks checks that the names are unique and that the values are valid.
func readLocks(r *reader) []source.Lock {
	list := readNamed(r, "lock", func(l source.Lock) (string, error) { return l.Name, l.Valid() })
	if len(list) > source.MaxLocks {
		r.fail("%d locks", len(list))
		return nil
	}
	return list
}

// maxPath limits the path of a file in an answer.
const maxPath = 4096

// readDeclaredStates checks the limits of the list and of its texts.
func readDeclaredStates(r *reader) []query.DeclaredState {
	list := readDocument[[]query.DeclaredState](r)
	if len(list) > query.MaxStates {
		r.fail("%d states", len(list))
		return nil
	}
	for _, s := range list {
		if len(s.Kind) > query.MaxStateName || max(len(s.Directory), len(s.File)) > maxPath || s.Line < 0 ||
			len(s.Names) > query.MaxStateNames ||
			slices.ContainsFunc(s.Names, func(name string) bool { return len(name) > query.MaxStateName }) {
			r.fail("a state with long texts")
			return nil
		}
	}
	return list
}

// readWaits checks that the values are valid.
func readWaits(r *reader) query.Coordination {
	doc := readDocument[query.Coordination](r)
	if err := doc.Valid(); err != nil {
		r.fail("%v", err)
		return query.Coordination{}
	}
	return doc
}

// readScopes checks that the values are valid.
func readScopes(r *reader) query.Scopes {
	doc := readDocument[query.Scopes](r)
	if err := doc.Valid(); err != nil {
		r.fail("%v", err)
		return query.Scopes{}
	}
	return doc
}

// readNamed reads a list. Each entry must be valid and have a name of its own.
func readNamed[A any](r *reader, what string, check func(A) (string, error)) []A {
	list := readDocument[[]A](r)
	seen := map[string]bool{}
	for _, x := range list {
		name, err := check(x)
		if err != nil {
			r.fail("the %s %q %v", what, name, err)
		}
		if seen[name] {
			r.fail("the %s %q twice", what, name)
		}
		seen[name] = true
	}
	if r.err != nil {
		return nil
	}
	return list
}
