package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/executor/ssh"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/syntax"
	"fettle.dev/fettle/internal/workspace"
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

// Address is the way to the machine that a command works on. A name that nothing knows is
// refused, also behind --ssh: it is a mistake in any case.
func (s *Session) Address(ctx context.Context, target string) (way, error) {
	switch {
	case s.ConnectOpts.SSH == "" && target == "":
		return way{here: true}, nil
	case target == "":
		return s.given()
	case s.ConnectOpts.SSH == "" && s.ConnectOpts.Via.Value == ViaHub:
		return way{Hub: target}, nil
	case s.ConnectOpts.SSH == "" && IsThisHost(s.Printer, target):
		return way{here: true}, nil
	}
	src, err := s.HubAccess.Open(ctx)
	if err != nil {
		return way{}, err
	}
	defer src.Close()
	w, err := s.declared(src, target)
	if src.None != nil && errors.Is(err, errUnknownTarget) {
		err = Refuse("List them: fettle target list",
			fmt.Sprintf("cannot reach %s: the fleet has no such target, and there is no repository here", target))
	}
	return w, err
}

// IsThisHost tells whether a target is the machine that this runs on.
func IsThisHost(s *Printer, target string) bool {
	host, err := s.App.Hostname()
	short, _, _ := strings.Cut(host, ".")
	return err == nil && (target == host || target == short)
}

// declared is the way to a target of an open repository, and to no other.
func (s *Session) declared(src *workspace.Source, target string) (way, error) {
	all, err := Inventory(s, src)
	if err != nil {
		return way{}, err
	}
	i := slices.IndexFunc(all, func(t query.Target) bool { return t.Name == target })
	switch {
	case i < 0:
		return way{}, UnknownTarget(target, TargetNames(all))
	case s.ConnectOpts.SSH != "":
		return s.given()
	case s.ConnectOpts.Via.Value != ViaHub && IsThisHost(s.Printer, target):
		return way{here: true}, nil
	}
	return s.wayTo(all[i], s.isHere(target, all))
}
