package child

import (
	"encoding/json"

	"fettle.dev/fettle/internal/lang/query"
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
	list := readDocument[[]query.Strategy](r)
	seen := map[string]bool{}
	for _, s := range list {
		if err := s.Valid(); err != nil {
			r.fail("the rollout %q %v", s.Name, err)
		}
		if seen[s.Name] {
			r.fail("the rollout %q twice", s.Name)
		}
		seen[s.Name] = true
	}
	if r.err != nil {
		return nil
	}
	return list
}
