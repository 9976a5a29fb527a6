package cli

import (
	"errors"
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/executor/ssh"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/syntax"
)

// The ways to a target that --via names.
const (
	viaAny = "any" // the way in the repository, otherwise the hub
	ViaSSH = "ssh"
	ViaHub = "hub"
)

// way leads to a machine: over SSH, through a hub, or to the machine that fettle runs
// on. The zero value leads nowhere, so that a missing answer never means this machine.
type way struct {
	ssh.Address
	Hub  string // the target's name there, "" for SSH
	here bool   // the machine that fettle runs on
}

// Far tells whether it leads to another machine.
func (w way) Far() bool { return w.Host != "" || w.Hub != "" }

// String returns the text for users.
func (w way) String() string {
	switch {
	case w.here:
		return "this host"
	case w.Hub != "":
		return w.Hub
	}
	return w.Address.String()
}

// wayTo returns the way to a target. The repository has priority over the fleet. here is true if a
// target without an address is this machine.
func (l *links) wayTo(t query.Target, here bool) (way, error) {
	switch {
	case l.ConnectOpts.Via.Value == ViaHub, l.ConnectOpts.Via.Value != ViaSSH && t.SSH == nil && t.Enrolled:
		return way{Hub: t.Name}, nil
	case t.SSH != nil:
		return way{Address: ssh.Address{Host: t.SSH.Host, User: t.SSH.User, Port: t.SSH.Port, Sudo: t.SSH.Sudo ||
			l.ConnectOpts.sudo, Options: t.SSH.Options}}, nil
	case here:
		return way{here: true}, nil
	}
	return way{}, NoConnection(t.Name)
}

// isHere tells whether a target of a repository to which nothing leads is this machine: it
// has its name, it is the only one, or --root says which machine is meant.
func (s *Session) isHere(name string, all []query.Target) bool {
	if len(all) == 1 || s.rootNamed || IsThisHost(s.Printer, name) {
		return true
	}
	host, err := s.App.Hostname()
	short, _, _ := strings.Cut(name, ".")
	return err == nil && short == host
}

// NoConnection refuses a target that is not this machine and that nothing leads to.
func NoConnection(target string) error {
	return Refuse("Declare it in the target or in a target_group: ssh {}\nFor this host: --root /",
		fmt.Sprintf("cannot reach %s: the repository does not declare how", target))
}

// errUnknownTarget marks the name of a target that nothing knows.
var errUnknownTarget = errors.New("there is no such target")

// UnknownTarget refuses a name that is not in all.
func UnknownTarget(name string, all []string) error {
	err := fmt.Errorf("there is no target %q.%s", name, syntax.Suggest(name, all))
	return WithHint(&noTarget{err}, "List the targets: fettle validate")
}

// noTarget is errUnknownTarget with the name, and with names that are near.
type noTarget struct{ error }

func (n *noTarget) Is(target error) bool { return target == errUnknownTarget }

// PlainNames are the names that words of -t consist of; ok is false where they select in
// another way.
func PlainNames(words []string) (names []string, ok bool) {
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
