package document

import "fettle.dev/fettle/internal/fleet"

// AskPageFormat is the format of AskPage.
const AskPageFormat = "fettle.fleet.asks/1"

// Ask is what an agent asked for and nobody has decided yet.
type Ask struct {
	Target  fleet.TargetID `json:"target"`
	Name    string         `json:"name"`
	What    fleet.AskKind  `json:"what"`
	Because string         `json:"because"`
	At      int64          `json:"at"`
}

// AskPage is all that waits for somebody.
type AskPage struct {
	Format string `json:"format"`
	Asks   []Ask  `json:"asks"`
}

// AskPolicyFormat is the format of AskPolicy.
const AskPolicyFormat = "fettle.fleet.askpolicy/1"

// AskPolicy is what becomes of what agents ask for.
type AskPolicy struct {
	Format string `json:"format"`
	// Answers has every kind.
	Answers map[fleet.AskKind]fleet.Verdict `json:"answers"`
	By      string                          `json:"by,omitempty"` // who changed it last
	Changed int64                           `json:"changed,omitempty"`
}

// AskPolicyRequest changes one answer.
type AskPolicyRequest struct {
	What   fleet.AskKind `json:"what"`
	Answer fleet.Verdict `json:"answer"`
}
