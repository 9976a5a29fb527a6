package fact

import (
	"io/fs"
	"testing"
)

// A host without a zone has UTC. A copied zone without a name is unknown.
func TestZone(t *testing.T) {
	for want, files := range map[string]map[string]string{
		"Europe/Berlin":    {"/etc/localtime": "-> /usr/share/zoneinfo/Europe/Berlin", "/etc/timezone": "Asia/Tokyo\n"},
		"Asia/Tokyo":       {"/etc/localtime": "TZif2", "/etc/timezone": "Asia/Tokyo\n"},
		"America/New_York": {"/etc/timezone": "America/New_York\n"},
		"UTC":              {},
		"":                 {"/etc/localtime": "TZif2"},
	} {
		got, err := Zone(fake{files: files})
		if err != nil || got != want {
			t.Errorf("%v: %q, %v, want %q", files, got, err, want)
		}
	}
	if got, err := Zone(fake{files: map[string]string{"/etc/localtime": "TZif2"}, fail: "/etc/timezone"}); err == nil {
		t.Errorf("%q without an error, want %v", got, fs.ErrPermission)
	}
}
