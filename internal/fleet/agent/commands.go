package agent

import (
	"errors"
	"fmt"

	"fettle.dev/fettle/internal/executor/wire"
)

// CommandPolicy defines the commands that users can run on this host through a hub.
type CommandPolicy string

// The policies, from the strictest to the default.
const (
	NoCommands   CommandPolicy = "none" // no streams, and no jobs with commands
	ReadCommands CommandPolicy = "read" // read-only operations; no commands of users
	// SignedCommands is ReadCommands, and commands that an operator signed: see content.Command.
	SignedCommands CommandPolicy = "signed"
	AllCommands    CommandPolicy = "all"
)

func policies() []CommandPolicy {
	return []CommandPolicy{NoCommands, ReadCommands, SignedCommands, AllCommands}
}

// Refuses returns an error if the policy does not permit unsigned commands or changes, otherwise
// nil.
func (p CommandPolicy) Refuses() error {
	switch p {
	case AllCommands:
		return nil
	case SignedCommands:
		return fmt.Errorf(`this host accepts only signed commands through a hub, because of commands = "signed" in /%s: %w. Sign it: --sign-key FILE. Or use --via ssh`, ConfFile, wire.ErrUnsigned)
	}
	return errors.New(`this host refuses commands through a hub: commands = "` + string(p) + `" in /` + ConfFile +
		`. Use --via ssh`)
}
