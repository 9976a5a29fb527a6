package render_test

import (
	"fmt"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/ui/render"
)

func TestFolded(t *testing.T) {
	many := make([]string, 10)
	for i := range many {
		many[i] = fmt.Sprintf("%c.example.org", 'a'+i)
	}
	for want, names := range map[string][]string{
		"web1":                              {"web1"},
		"5 targets: web[1-3,7].ber, db":     {"web2.ber", "web1.ber", "web7.ber", "db", "web3.ber"},
		"3 targets: web1.ber, web[1-2].ams": {"web1.ber", "web1.ams", "web2.ams"},
		"2 targets: web01, web02":           {"web01", "web02"},
		"6 targets: x[1,3,5,7,…]":           {"x1", "x3", "x5", "x7", "x9", "x11"},
		"10 targets: " + strings.Join(many[:6], ", ") + ", …": many,
	} {
		if got := render.Folded(names); got != want {
			t.Errorf("%q is %q, want %q", names, got, want)
		}
	}
}
