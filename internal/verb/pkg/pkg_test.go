package pkg

import (
	"fmt"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
)

func show(cs []host.PackageChange) string {
	s := ""
	for _, c := range cs {
		s += fmt.Sprintf("%s version=%q absent=%t purge=%t", c.Name, c.Version, c.Absent, c.Purge)
		if c.Held != nil {
			s += fmt.Sprintf(" held=%t", *c.Held)
		}
		if c.Auto != nil {
			s += fmt.Sprintf(" auto=%t", *c.Auto)
		}
	}
	return s
}

func TestChangeFor(t *testing.T) {
	p := func(version string) image.Package { return image.Package{Version: version, Status: "ii"} }
	for name, c := range map[string]struct {
		from, to image.Package
		want     string
	}{
		"nothing to do":     {p("1"), p("1"), ""},
		"install":           {image.Package{}, p(image.Candidate), `p version="" absent=false purge=false auto=false`},
		"install a version": {image.Package{}, p("1"), `p version="1" absent=false purge=false auto=false`},
		"another version":   {p("1"), p("2"), `p version="2" absent=false purge=false`},
		"hold": {p("1"), image.Package{Version: "1", Status: "ii", Held: true},
			`p version="1" absent=false purge=false held=true`},
		"unhold": {image.Package{Version: "1", Held: true}, p("1"),
			`p version="1" absent=false purge=false held=false`},
		"own hold, another version": {image.Package{Version: "1", Held: true}, image.Package{Version: "2", Held: true},
			`p version="2" absent=false purge=false held=true`},
		"own hold, taken away": {image.Package{Version: "1", Held: true}, image.Package{},
			`p version="" absent=true purge=false held=false`},
		"somebody's hold": {image.Package{Version: "1", Held: true}, image.Package{Version: "2", Held: true},
			`p version="2" absent=false purge=false`},
		"half configured": {image.Package{Version: "1", Status: "iF"}, p("1"),
			`p version="1" absent=false purge=false`},
		"half removed": {image.Package{Status: "rH"}, image.Package{}, `p version="" absent=true purge=false`},
		"remove":       {p("1"), image.Package{}, `p version="" absent=true purge=false`},
		"purge":        {p("1"), image.Package{Purged: true}, `p version="" absent=true purge=true`},
		"purge what was removed": {image.Package{Status: "rc"}, image.Package{Purged: true},
			`p version="" absent=true purge=true`},
		"purged already":  {image.Package{Status: "pn"}, image.Package{Purged: true}, ""},
		"removed already": {image.Package{Status: "rc"}, image.Package{}, ""},
		"leave its files": {p("1"), image.Package{Status: "rc"}, `p version="" absent=true purge=false`},
		"mark in sync": {image.Package{Version: "1", Auto: true}, p("1"),
			`p version="1" absent=false purge=false auto=false`},
	} {
		s := step.Step{Verb: step.Pkg, Args: []string{"p"}}
		if strings.HasPrefix(name, "own hold") {
			s.Attrs = []step.Attr{{Key: "held", Value: "true"}}
		}
		got := show(changeFor(&verb.GroupMove{Step: s, From: image.Of(&c.from), To: image.Of(&c.to)}))
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
