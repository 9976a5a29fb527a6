package wire

import (
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
)

type frozen struct {
	Frozen  journal.Frozen   `json:"frozen"`
	Options executor.Options `json:"options"`
}

type detailed struct {
	Run   int  `json:"run"`
	Diffs bool `json:"diffs,omitempty"`
}

type collecting struct {
	Keep    journal.Retention `json:"keep"`
	Options executor.Options  `json:"options"`
}
