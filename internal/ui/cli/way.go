package cli

import (
	"strings"

	"fettle.dev/fettle/internal/executor/ssh"
	"fettle.dev/fettle/internal/lang"
)

// The ways to a target that --via names.
const (
	viaAny = "any" // as the repository says, else through the hub
	viaSSH = "ssh"
	viaHub = "hub"
)

// way leads to a machine: over SSH, or through a hub. The zero value is this machine.
type way struct {
	ssh.Address
	hub string // the target's name there, "" for SSH
}

// far tells whether it leads to another machine.
func (w way) far() bool { return w.Host != "" || w.hub != "" }

// String is for people.
func (w way) String() string {
	if w.hub != "" {
		return w.hub
	}
	return w.Address.String()
}

// wayTo is how a target is reached; nil for this machine. What the repository says comes
// before what the fleet knows.
func (s *session) wayTo(t lang.Target) *way {
	switch {
	case s.reach.via.value == viaHub, s.reach.via.value != viaSSH && t.SSH == nil && t.Enrolled:
		return &way{hub: t.Name}
	case t.SSH == nil:
		return nil
	}
	return &way{Address: ssh.Address{Host: t.SSH.Host, User: t.SSH.User, Port: t.SSH.Port, Sudo: t.SSH.Sudo || s.reach.sudo, Options: t.SSH.Options}}
}

// plainNames are the names that words of -t consist of; ok is false where they select in
// another way.
func plainNames(words []string) (names []string, ok bool) {
	for _, w := range words {
		for name := range strings.SplitSeq(w, ",") {
			if !oneName(name) {
				return nil, false
			}
			names = append(names, name)
		}
	}
	return names, true
}
