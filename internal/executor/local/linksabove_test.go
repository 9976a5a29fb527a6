package local

import (
	"fmt"
	"slices"
	"testing"

	"fettle.dev/fettle/internal/host/mem"
)

// Each link of a path is found, also in the directory to which another link leads.
func TestLinksAbove(t *testing.T) {
	h := mem.New(mem.Options{})
	for _, dir := range []string{"/srv", "/srv/real", "/srv/real/d", "/var", "/var/d"} {
		if err := h.Mkdir(dir, 0o755); err != nil && dir != "/srv" && dir != "/var" {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"/srv/a": "real/d", "/srv/real/d/b": "../../../var", "/srv/abs": "/srv/a/b", "/srv/loop": "loop", "/srv/gone": "none",
	} {
		if err := h.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	for file, want := range map[string][]string{
		"/srv/real/d/f":   nil,
		"/srv/a":          nil,
		"/srv/a/f":        {"/srv/a in /srv"},
		"/srv/a/b/d/f":    {"/srv/a in /srv", "/srv/real/d/b in /srv/real/d"},
		"/srv/abs/f":      {"/srv/abs in /srv", "/srv/a in /srv", "/srv/real/d/b in /srv/real/d"},
		"/srv/gone/a/b/f": {"/srv/gone in /srv"},
		"/nowhere/a/f":    nil,
	} {
		var got []string
		yieldLinks(h, file, func(link, dir string) bool {
			got = append(got, fmt.Sprintf("%s in %s", link, dir))
			return true
		})
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
	n := 0
	yieldLinks(h, "/srv/loop/f", func(string, string) bool { n++; return true })
	if n != maxLinksAbove {
		t.Errorf("a loop has %d links, want %d", n, maxLinksAbove)
	}
}
