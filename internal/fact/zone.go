package fact

import (
	"errors"
	"io/fs"

	"fettle.dev/fettle/internal/host"
)

// Zone returns the time zone of a host as a name of the IANA database, such as Europe/Berlin. It is "" if the host has
// a zone without a name: /etc/localtime is a copy, and /etc/timezone does not exist. A host that sets no zone has UTC.
func Zone(h host.Reader) (string, error) {
	return (&source{h: h, cache: map[string]string{}}).zone()
}

func (s *source) zone() (string, error) {
	target, err := s.h.Readlink("/etc/localtime")
	if zone := parseZone(target); err == nil && zone != "" {
		return zone, nil
	}
	t, err := s.text("/etc/timezone")
	if zone := word(t); err != nil || zone != "" {
		return zone, err
	}
	if _, err := s.h.Lstat("/etc/localtime"); errors.Is(err, fs.ErrNotExist) {
		return "UTC", nil
	}
	return "", nil
}
