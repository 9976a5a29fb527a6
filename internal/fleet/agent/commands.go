package agent

import (
	"errors"
	"fmt"

	"fettle.dev/fettle/internal/executor/wire"
)

// CommandPolicy is what an agent lets users do through a hub.
type CommandPolicy string

// The policies, from the strictest to the default.
const (
	NoCommands   CommandPolicy = "none" // no stream and no job that runs something
	ReadCommands CommandPolicy = "read" // what the target reports of itself; nothing that a user chooses
	// SignedCommands is ReadCommands, and commands that an operator signed: see content.Command.
	SignedCommands CommandPolicy = "signed"
	AllCommands    CommandPolicy = "all"
)

func policies() []CommandPolicy {
	return []CommandPolicy{NoCommands, ReadCommands, SignedCommands, AllCommands}
}

// Refuses says why a policy refuses what changes something, or what a user chooses, nil
// where it does not.
func (p CommandPolicy) Refuses() error {
	switch p {
	case AllCommands:
		return nil
	case SignedCommands:
		return fmt.Errorf(`this host accepts only signed commands through a hub, because of commands = "signed" in /%s: %w. Sign it: --sign-key FILE. Or use --via ssh`, ConfFile, wire.ErrUnsigned)
	}
	return errors.New(`this host refuses commands through a hub: commands = "` + string(p) + `" in /` + ConfFile + `. Use --via ssh`)
}
