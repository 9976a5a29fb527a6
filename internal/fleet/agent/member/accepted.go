package member

import (
	"path"

	"fettle.dev/fettle/internal/fleet/agent/durable"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/host"
)

func (m *Member) acceptedFile() string { return path.Join(m.cfg.Dir, "accepted.json") }

// loadAccepted reads the accepted commits. The file is missing if the host accepted no commit, or
// if only an earlier version of fettle ran. An unreadable file is an error: without it, any signed
// commit would be accepted.
func loadAccepted(files host.FS, file string) (content.Accepted, error) {
	return loadOptional(files, file, content.Accepted{}, content.ParseAccepted)
}

// saveAccepted replaces the accepted commits durably.
func saveAccepted(files host.FS, file string, a content.Accepted) error {
	text, err := a.Marshal()
	if err != nil {
		return err
	}
	return durable.Replace(files, file, text)
}
