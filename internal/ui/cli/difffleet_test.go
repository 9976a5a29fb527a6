package cli

import (
	"fmt"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/step"
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
		"10 targets: " + strings.Join(many[:mostPatterns], ", ") + ", …": many,
	} {
		if got := folded(names); got != want {
			t.Errorf("%q is %q, want %q", names, got, want)
		}
	}
}

// A difference that several have is told once, with what differs among them
// left open.
func TestFleetGroups(t *testing.T) {
	list := func(text string) step.List {
		l, ds := step.Parse("list", []byte(text))
		if ds.HasErrors() {
			t.Fatal(ds)
		}
		return l
	}
	copied := func(digit, path string) string { return "COPY sha256:" + strings.Repeat(digit, 64) + " " + path + "\n" }
	g := fleetGroups{byKey: map[string]*fleetDiff{}}
	for i, name := range []string{"a1", "a2", "a3"} {
		d := fmt.Sprint(i)
		g.add(name, step.Diff(list("PKG xx\n"+copied("9", "/etc/"+name)), list("PKG xx\n"+copied(d, "/etc/"+name)+copied("8", "/etc/all"))))
	}
	g.add("b", step.Diff(list("PKG xx\n"), list("PKG yy\n")))
	g.add("c", step.Diff(list("PKG xx\n"), list("PKG xx\n")))
	all := g.sorted()
	if len(all) != 2 || strings.Join(all[0].Targets, " ") != "a1 a2 a3" || strings.Join(all[1].Targets, " ") != "b" {
		t.Fatalf("%+v", all)
	}
	text := strings.Join(all[0].Lines, "\n")
	for _, part := range []string{"sha256:… /etc/{target}", strings.Repeat("8", 64) + " /etc/all", strings.Repeat("9", 64) + " /etc/{target}"} {
		if !strings.Contains(text, part) {
			t.Errorf("%s has no %q", text, part)
		}
	}
}
