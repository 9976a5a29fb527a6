package content

import (
	"encoding/json"
	"fmt"
)

// AcceptedFormat is the supported format of accepted commits.
const AcceptedFormat = "fettle.accepted-commits/1"

// Accepted has the last accepted commit of each part. A part is a path in the signed tree, so a hub
// cannot rename it. A host stores them durably.
type Accepted map[string]string

type acceptedText struct {
	Format string            `json:"format"`
	Parts  map[string]string `json:"parts"`
}

// Marshal returns the text for ParseAccepted.
func (a Accepted) Marshal() ([]byte, error) {
	return json.Marshal(acceptedText{AcceptedFormat, a})
}

// ParseAccepted parses accepted commits. Unknown fields are errors.
func ParseAccepted(text []byte) (Accepted, error) {
	var t acceptedText
	err := decodeStrictly(text, &t)
	if err == nil && t.Format != AcceptedFormat {
		err = fmt.Errorf("their format is %.40q, and this version of fettle reads %s", t.Format, AcceptedFormat)
	}
	for part, commit := range t.Parts {
		if _, bad := namingOf(commit); bad != nil && err == nil {
			err = fmt.Errorf("of %s: %w", partName(part), bad)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the accepted commits: %w", err)
	}
	if t.Parts == nil {
		t.Parts = map[string]string{}
	}
	return t.Parts, nil
}

// Lineage returns the lineage of a new commit of a part.
func (a Accepted) Lineage(part, commit string) Lineage {
	return Lineage{Commit: commit, Part: a[part], Root: a[RootBundle]}
}
