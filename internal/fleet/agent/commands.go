package agent

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/executor/wire"
)

// CommandsFile says, below the root of a host, what hubs may have its agent run besides what
// is assigned:
//
//	commands = "read"
const CommandsFile = "etc/fettle/agent.conf"

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

// ParseCommandPolicy reads the file, strictly: what cannot be read must not count as the
// default. Text that sets nothing is the default.
func ParseCommandPolicy(text string) (CommandPolicy, error) {
	out := CommandPolicy("")
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, _ := strings.Cut(line, "=")
		value = strings.TrimSpace(value)
		switch p := CommandPolicy(strings.Trim(value, `"`)); {
		case strings.TrimSpace(name) != "commands":
			return NoCommands, fmt.Errorf("cannot read /%s:%d: commands is the only setting", CommandsFile, i+1)
		case out != "":
			return NoCommands, fmt.Errorf("cannot read /%s:%d: commands is set twice", CommandsFile, i+1)
		case value != `"`+string(p)+`"` || !slices.Contains(policies(), p):
			return NoCommands, fmt.Errorf(`cannot read /%s:%d: commands is "none", "read", "signed" or "all"`, CommandsFile, i+1)
		default:
			out = p
		}
	}
	if out == "" {
		out = AllCommands
	}
	return out, nil
}

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
		return fmt.Errorf(`this host accepts only signed commands through a hub, because of commands = "signed" in /%s: %w. Sign it: --sign-key FILE. Or use --via ssh`, CommandsFile, wire.ErrUnsigned)
	}
	return errors.New(`this host refuses commands through a hub: commands = "` + string(p) + `" in /` + CommandsFile + `. Use --via ssh`)
}
