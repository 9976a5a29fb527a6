package addr_test

import (
	"testing"

	"fettle.dev/fettle/internal/addr"
)

func TestPath(t *testing.T) {
	for a, want := range map[addr.Addr]string{
		"file:/etc/motd":                  "/etc/motd",
		"meta:/etc/a#b":                   "/etc/a#b",
		"edit:/etc/hosts#block:web":       "/etc/hosts",
		"edit:/etc/hosts#line:# a #key:b": "/etc/hosts",
		"edit:/etc/a#b#match:^#x":         "/etc/a#b",
		"edit:/etc/hosts#other":           "/etc/hosts",
		"edit:/etc/hosts":                 "",
		"user:web":                        "",
		"":                                "",
	} {
		if got := a.Path(); got != want {
			t.Errorf("%s is about %q, want %q", a, got, want)
		}
	}
}
