package fleet

import "fmt"

// HeldContent is content of the branch that no further target gets. Targets have other content instead, or get it. All
// views show Text.
type HeldContent struct {
	Parts   []string `json:"parts"`             // "top" or "modules/NAME", sorted
	Head    string   `json:"head"`              // a commit with the held content
	Stable  string   `json:"stable,omitempty"`  // a commit with the content that targets have instead; "" means none
	Rollout string   `json:"rollout,omitempty"` // the newest rollout of the held content
	Text    string   `json:"text"`
}

// NewHeldContent returns held content with its text, which names the short commits.
func NewHeldContent(parts []string, head, stable string) HeldContent {
	h := HeldContent{Parts: parts, Head: head, Stable: stable}
	if h.Text = fmt.Sprintf("held: HEAD %.12s, stable %.12s", head, stable); stable == "" {
		h.Text = fmt.Sprintf("held: HEAD %.12s, without stable content", head)
	}
	return h
}
