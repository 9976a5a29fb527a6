package member

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"fettle.dev/fettle/internal/fleet/agent/durable"
	"fettle.dev/fettle/internal/fleet/content"
)

// requiredFile says that signatures are required on this host. Who wants to do without
// them again removes it, and the file of keys.
const requiredFile = "signatures-required"

// errSignersGone is in the chain of the error where the keys are missing that were there.
var errSignersGone = errors.New("nothing new is accepted until it is back")

// signers are the keys that are believed now, nil where none is asked for.
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
		err = errors.New("cannot ask for signatures: no key is believed; add one to the file, or remove the file")
	}
	if err == nil {
		err = m.require()
	}
	return &list, err
}

func (m *Member) requiredPath() string { return path.Join(m.cfg.Dir, requiredFile) }

// require notes durably that signatures are required, before the first is believed.
func (m *Member) require() error {
	_, err := m.cfg.Files.Lstat(m.requiredPath())
	if errors.Is(err, fs.ErrNotExist) {
		err = durable.Replace(m.cfg.Files, m.requiredPath(), []byte("allowed_signers was here: see fettle-security, signed commits\n"))
	}
	if err != nil {
		return fmt.Errorf("cannot note that signatures are required: %w", err)
	}
	return nil
}

// mayDoWithout refuses to do without keys where there were some: a file that was removed
// by mistake, or by what was applied, would let the hub decide what runs as root.
func (m *Member) mayDoWithout() error {
	_, err := m.cfg.Files.Lstat(m.requiredPath())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("cannot tell whether signatures are required: %w", err)
	}
	return fmt.Errorf("cannot check signatures: the file allowed_signers is missing, which existed before; %w. To accept unsigned commits from now on, remove the file %s of the agent's directory", errSignersGone, requiredFile)
}
