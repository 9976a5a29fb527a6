package step_test

import (
	"slices"
	"testing"

	"fettle.dev/fettle/internal/step"
)

// TestNamedFiles: commands and links name files. The target of a link is relative to its directory.
func TestNamedFiles(t *testing.T) {
	for text, want := range map[string][]string{
		"EXEC id /bin/tool -c /etc/tool.conf cwd=/srv": {"/srv", "/bin/tool", "-c", "/etc/tool.conf"},
		"LINK ../a/f /srv/b/l":                         {"/srv/a/f"},
		"LINK /etc/f /srv/l":                           {"/etc/f"},
		"MKDIR /srv":                                   nil,
	} {
		s, err := step.ParseLine(text)
		if err != nil {
			t.Fatal(text, err)
		}
		var got []string
		for _, f := range s.NamedFiles() {
			if got = append(got, f.Path); f.Why == "" {
				t.Errorf("%s: %s has no reason", text, f.Path)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
