package fleet

import "encoding/json"

// EnrolledFile is the file at the top of a repository's tree in which hubs and agents
// tell the language of the targets that are enrolled. It is made, never committed: one
// of that name in a repository gives way to it.
const EnrolledFile = "enrolled.fettle.json"

// Enrolled is the text of EnrolledFile for some targets, with their labels by name. An
// agent writes the one of its own assignment, a hub those of all that are active. The
// same targets give the same bytes.
func Enrolled(targets map[string]map[string]string) []byte {
	type block struct {
		Labels map[string]string `json:"labels"`
	}
	blocks := map[string]block{}
	for name, labels := range targets {
		if labels == nil {
			labels = map[string]string{}
		}
		blocks[name] = block{labels}
	}
	text, err := json.MarshalIndent(map[string]any{"enrolled": blocks}, "", "  ")
	if err != nil {
		panic(err) // texts alone: there is nothing in it that has no JSON
	}
	return append(text, '\n')
}
