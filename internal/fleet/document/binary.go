package document

import "fettle.dev/fettle/internal/fleet"

// BinaryPageFormat is the format of BinaryPage.
const BinaryPageFormat = "fettle.fleet.binaries/1"

// BinaryRequest sets the binary of agents. The hub already has its files.
type BinaryRequest struct {
	Select []string     `json:"select"`
	Binary fleet.Binary `json:"binary"`
}

// BinarySetting is one setting. The most recent setting for a target wins.
type BinarySetting struct {
	ID     string       `json:"id"`
	At     int64        `json:"at"`
	By     string       `json:"by"`
	Select []string     `json:"select"`
	Binary fleet.Binary `json:"binary"`
}

// BinaryPage contains all settings, the most recent first.
type BinaryPage struct {
	Format   string          `json:"format"`
	Binaries []BinarySetting `json:"binaries"`
}
