package apt

import (
	"context"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/host"
)

// aptEnv keeps every known hook from asking anything.
func aptEnv() []string {
	return []string{
		"DEBIAN_FRONTEND=noninteractive", "DEBIAN_PRIORITY=critical", "DEBCONF_NONINTERACTIVE_SEEN=true",
		"APT_LISTCHANGES_FRONTEND=none", "APT_LISTBUGS_FRONTEND=none",
		"NEEDRESTART_MODE=l", "NEEDRESTART_SUSPEND=1", "UCF_FORCE_CONFFOLD=1",
		"SUDO_FORCE_REMOVE=yes", // its removal was requested, by a user that is already root
	}
}

// aptOptions returns the options of every call. apt asks no questions, changed configuration files
// remain unchanged, and only named packages are removed.
func aptOptions() []string {
	return []string{
		"-y", "-q", "--no-install-recommends",
		"-o", "APT::Get::Assume-Yes=true",
		"-o", "APT::Get::AutomaticRemove=false",
		"-o", "APT::Color=false",
		"-o", "Dpkg::Use-Pty=false",
		"-o", "Dpkg::Options::=--force-confdef",
		"-o", "Dpkg::Options::=--force-confold",
		"-o", "DPkg::Lock::Timeout=600",
	}
}

func firstError(first, second error) error {
	if first != nil {
		return first
	}
	return second
}

// tool runs a program that changes package states.
func (p *packages) tool(ctx context.Context, argv []string) error {
	r, err := p.h.Run(ctx, host.Command{Argv: argv, Env: aptEnv(), Timeout: 10 * time.Minute, Mutates: true})
	if err != nil {
		return err
	}
	if r.ExitCode != 0 {
		return fmt.Errorf("%s %s: %s", argv[0], argv[1], firstLine(append(r.Stderr, r.Stdout...)))
	}
	return nil
}

// apt runs apt-get or dpkg and makes its failure short.
func (p *packages) apt(ctx context.Context, progress func(host.Progress), inv inventory, argv []string) error {
	r, err := p.h.Run(ctx, host.Command{Argv: argv, Env: aptEnv(), Timeout: aptTimeout, Mutates: true,
		Watch: aptWatch(progress)})
	p.notes = append(p.notes, keptConffiles(r.Stderr)...)
	switch {
	case err != nil:
		return fmt.Errorf("cannot change packages: %w", err)
	case r.ExitCode != 0:
		return p.aptError(ctx, inv, r)
	}
	return nil
}
