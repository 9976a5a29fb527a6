package agent

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/duration"
	"fettle.dev/fettle/internal/fleet/content"
)

// ConfFile is the file below the root of a host with the settings of its agent. Hubs cannot change
// them.
//
//	commands = "read"
//	require_every_commit_signed = true
//	require_descent = true
//	return_within = "12h"
const ConfFile = "etc/fettle/agent.conf"

// Conf is the content of the file. Without return_within, Descent.Return is content.ReturnTime, or none with
// require_descent.
type Conf struct {
	Commands CommandPolicy
	Descent  content.Descent
}

// The names of the settings of Conf.Descent.
const (
	everyCommitSigned = "require_every_commit_signed"
	requireDescent    = "require_descent"
	returnWithin      = "return_within"
)

// ParseConf reads the file strictly: an unreadable setting must not count as its default. A text
// without settings has the defaults. With an error, Commands is NoCommands.
func ParseConf(text string) (Conf, error) {
	out, set := Conf{Commands: AllCommands, Descent: content.Descent{Return: content.ReturnTime}}, map[string]bool{}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, _ := strings.Cut(line, "=")
		name = strings.TrimSpace(name)
		err := out.set(name, strings.TrimSpace(value))
		if set[name] {
			err = fmt.Errorf("%s is set twice", name)
		}
		if err != nil {
			return Conf{Commands: NoCommands}, fmt.Errorf("cannot read /%s:%d: %w", ConfFile, i+1, err)
		}
		set[name] = true
	}
	if out.Descent.Descends && !set[returnWithin] {
		out.Descent.Return = 0 // a previous commit is not a descendant
	}
	return out, nil
}

func (c *Conf) set(name, value string) error {
	switch name {
	case "commands":
		c.Commands = CommandPolicy(strings.Trim(value, `"`))
		if value != `"`+string(c.Commands)+`"` || !slices.Contains(policies(), c.Commands) {
			return errors.New(`commands must be "none", "read", "signed" or "all"`)
		}
	case everyCommitSigned:
		return setBool(&c.Descent.Signed, name, value)
	case requireDescent:
		return setBool(&c.Descent.Descends, name, value)
	case returnWithin:
		return setDuration(&c.Descent.Return, name, value)
	default:
		return fmt.Errorf("unknown setting; the settings are commands, %s, %s and %s", everyCommitSigned, requireDescent,
			returnWithin)
	}
	return nil
}

// maxReturn is the longest time after which an agent returns to an older commit without a permit.
const maxReturn = 30 * 24 * time.Hour

func setDuration(to *time.Duration, name, value string) error {
	text := strings.Trim(value, `"`)
	d, err := duration.Parse(text)
	if err != nil || value != `"`+text+`"` || d < 0 || d > maxReturn {
		return fmt.Errorf(`%s must be a time from "0" to "30d", such as "12h"`, name)
	}
	*to = d
	return nil
}

func setBool(to *bool, name, value string) error {
	if value != "true" && value != "false" {
		return fmt.Errorf("%s must be true or false", name)
	}
	*to = value == "true"
	return nil
}
