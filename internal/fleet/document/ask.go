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
