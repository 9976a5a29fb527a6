package member

import (
	"errors"
	"time"

	"fettle.dev/fettle/internal/fleet/content"
)

// CommandTrust returns the keys and rules with which this host verifies signed commands. It fails
// without a file of keys, so that no command is accepted.
func CommandTrust(m *Member) (content.CommandTrust, error) {
	signers, err := m.signers()
	if err == nil && signers == nil {
		err = errors.New(
			"cannot accept commands: this host requires signed commands, and has no file /etc/fettle/allowed_signers. " +
				"Write the keys of the operators into it, or use --via ssh")
	}
	if err != nil {
		return content.CommandTrust{}, err
	}
	now, floor := m.cfg.Now(), m.minimumTime()
	m.mu.Lock()
	defer m.mu.Unlock()
	return content.CommandTrust{Signers: *signers, Fleets: m.fleetFiles(), Target: m.identity.Name,
		Now: later(now, floor).Unix()}, nil
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
