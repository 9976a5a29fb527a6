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
	blocks := map[string]enrolledBlock{}
	for name, labels := range targets {
		blocks[name] = enrolledBlock{Labels: orEmpty(labels)}
	}
	return enrolledText(blocks)
}

// EnrolledWaiting is Enrolled for one target, with the folders of modules that it has
// and that have to wait: they are not there, and that is no mistake.
func EnrolledWaiting(name string, labels map[string]string, waits []string) []byte {
	return enrolledText(map[string]enrolledBlock{name: {orEmpty(labels), waits}})
}

type enrolledBlock struct {
	Labels map[string]string `json:"labels"`
	Waits  []string          `json:"waits,omitempty"`
}

func orEmpty(labels map[string]string) map[string]string {
	if labels == nil {
		return map[string]string{}
	}
	return labels
}

func enrolledText(blocks map[string]enrolledBlock) []byte {
	text, err := json.MarshalIndent(map[string]any{"enrolled": blocks}, "", "  ")
	if err != nil {
		panic(err) // texts alone: there is nothing in it that has no JSON
	}
	return append(text, '\n')
}
