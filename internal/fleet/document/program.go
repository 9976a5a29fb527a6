package document

import "fettle.dev/fettle/internal/fleet"

// ProgramPageFormat is the format of ProgramPage.
const ProgramPageFormat = "fettle.fleet.programs/1"

// ProgramRequest says which program agents are to be. The hub has its files already.
type ProgramRequest struct {
	Select  []string      `json:"select"`
	Program fleet.Program `json:"program"`
}

// Programmed is one that was said. Of two about the same target the later counts.
type Programmed struct {
	ID      string        `json:"id"`
	At      int64         `json:"at"`
	By      string        `json:"by"`
	Select  []string      `json:"select"`
	Program fleet.Program `json:"program"`
}

// ProgramPage is all that was said of programs, the latest first.
type ProgramPage struct {
	Format   string       `json:"format"`
	Programs []Programmed `json:"programs"`
}
