package apply

import (
	"errors"
	"fmt"
	"testing"

	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
)

func TestBlamedFirst(t *testing.T) {
	var moves []*verb.GroupMove
	for _, name := range []string{"alpha", "no-such", "libc6:i386"} {
		moves = append(moves, &verb.GroupMove{Step: step.Step{Verb: step.Pkg, Args: []string{name}}})
	}
	for text, want := range map[string]string{
		"Unable to locate package no-such. Run apt-get update": "[1 0 2]",
		"libc6:i386: installed script returned 1":              "[2 1 0]",
		"Version '3' for 'alpha' was not found":                "[0 1 2]",
		"the disk is full":                                     "[0 1 2]",
		"no-such-thing":                                        "[0 1 2]",
	} {
		bad := []int{0, 1, 2}
		blamedFirst(bad, moves, fmt.Errorf("cannot change packages alpha, no-such, libc6:i386: %w", errors.New(text)))
		if got := fmt.Sprint(bad); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestCures(t *testing.T) {
	for _, c := range []struct {
		from, to image.Package
		want     bool
	}{
		{image.Package{Version: "1", Status: "iF"}, image.Package{}, true},
		{image.Package{Version: "1", Status: "iF"}, image.Package{Version: "2"}, true},
		{image.Package{Version: "1", Status: "iF"}, image.Package{Version: "1", Status: "ii"}, true},
		{image.Package{Version: "1", Status: "ii"}, image.Package{}, false},
	} {
		if got := cures(&verb.GroupMove{From: image.Image{Package: &c.from}, To: image.Image{Package: &c.to}}); got != c.want {
			t.Errorf("%+v to %+v: %v, want %v", c.from, c.to, got, c.want)
		}
	}
}
