package member

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/smallfile"
	"fettle.dev/fettle/internal/host"
)

func protocolFile(dir string) string { return path.Join(dir, "protocol.json") }

// noteProtocol stores that the last hub had no protocol version in common, so that fettle agent
// status can show it. nil: it had one.
func (m *Member) noteProtocol(e *bus.VersionError) {
	was, err := ReadProtocol(m.cfg.Files, m.cfg.Dir)
	switch {
	case err == nil && (e == nil) == (was == nil) && (e == nil || *e == *was):
		return
	case e == nil:
		err = smallfile.Remove(m.cfg.Files, protocolFile(m.cfg.Dir))
	default:
		var text []byte
		if text, err = json.Marshal(e); err == nil {
			err = smallfile.Write(m.cfg.Files, protocolFile(m.cfg.Dir), text)
		}
	}
	if err != nil {
		m.cfg.Warn(fmt.Sprintf("cannot store the protocol version of the hub: %v", err))
	}
}

// ReadProtocol returns why hubs refuse the agent of a directory, nil if they do not.
func ReadProtocol(files host.FS, dir string) (*bus.VersionError, error) {
	text, err := smallfile.Read(files, protocolFile(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the protocol version of the hub: %w", err)
	}
	e := &bus.VersionError{}
	if err := json.Unmarshal(text, e); err != nil {
		return nil, fmt.Errorf("cannot read the protocol version of the hub: %w", err)
	}
	return e, nil
}
