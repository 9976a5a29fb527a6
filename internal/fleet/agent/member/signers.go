package member

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"fettle.dev/fettle/internal/fleet/agent/durable"
	"fettle.dev/fettle/internal/fleet/content"
)

// requiredFile records that this host requires signatures. To remove the requirement, an operator
// removes this file and the file of keys.
const requiredFile = "signatures-required"

// errSignersGone is in the chain of the error if the file of keys existed before and is missing
// now.
var errSignersGone = errors.New("the agent accepts no new assignment until the file exists again")

// signers returns the current keys, nil if no signature is required.
func (m *Member) signers() (*content.Signers, error) {
	if m.cfg.Signers == nil {
		return nil, nil
	}
	text, err := m.cfg.Signers()
	if err != nil {
		return nil, err
	}
	if text == nil {
		return nil, m.mayDoWithout()
	}
	list, err := content.ParseSigners("allowed_signers", text)
	if err == nil && list.Empty() {
		err = errors.New("cannot verify signatures: allowed_signers contains no key. Add a key, or remove the file")
	}
	if err == nil {
		err = m.require()
	}
	return &list, err
}

func (m *Member) requiredPath() string { return path.Join(m.cfg.Dir, requiredFile) }

// require records durably that signatures are required, before the first signature is accepted.
func (m *Member) require() error {
	_, err := m.cfg.Files.Lstat(m.requiredPath())
	if errors.Is(err, fs.ErrNotExist) {
		err = durable.Replace(m.cfg.Files, m.requiredPath(),
			[]byte("allowed_signers was here: see fettle-security, signed commits\n"))
	}
	if err != nil {
		return fmt.Errorf("cannot store that signatures are required: %w", err)
	}
	return nil
}

// mayDoWithout refuses to continue without keys if keys existed before. Otherwise a file that was
// removed by accident, or by an applied configuration, would let the hub decide what runs as root.
func (m *Member) mayDoWithout() error {
	_, err := m.cfg.Files.Lstat(m.requiredPath())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("cannot determine whether signatures are required: %w", err)
	}
	return fmt.Errorf(
		"cannot verify signatures: the file allowed_signers is missing, but existed before; %w. To accept unsigned commits from now on, "+
			"remove the file %s in the agent's directory", errSignersGone, requiredFile)
}
