package apply

import (
	"errors"
	"fmt"
	"testing"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
)

func TestBlamedFirst(t *testing.T) {
	var moves []*verb.GroupMove
	for _, name := range []string{"alpha", "no-such", "libc6:i386"} {
		moves = append(moves, &verb.GroupMove{Step: step.Step{Verb: step.Pkg, Args: []string{name}}})
	}
	blames := func(text string, names ...string) error {
		return &host.PackagesError{Names: names, Err: errors.New(text)}
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{errors.New("Unable to locate package no-such. Run apt-get update"), "1 [1 0 2]"},
		{errors.New("libc6:i386: installed script returned 1"), "1 [2 0 1]"},
		{errors.New("Version '3' for 'alpha' was not found"), "1 [0 1 2]"},
		{errors.New("the disk is full"), "0 [0 1 2]"},
		{errors.New("no-such-thing"), "0 [0 1 2]"},
		{blames("alpha is in the way of it", "no-such"), "1 [1 0 2]"},
		{blames("two do not go together", "libc6:i386", "no-such"), "2 [1 2 0]"},
		{blames("a trigger of another failed", "watcher"), "0 [0 1 2]"},
		{blames("somebody killed dpkg"), "0 [0 1 2]"},
	} {
		bad := []int{0, 1, 2}
		n := blamedFirst(bad, moves, fmt.Errorf("cannot change packages alpha, no-such, libc6:i386: %w", c.err))
		if got := fmt.Sprint(n, " ", bad); got != c.want {
			t.Errorf("%v: %s, want %s", c.err, got, c.want)
		}
	}
	failed := errors.New("somebody killed dpkg")
	if got := oneOf([]int{0, 2}, moves, failed).Error(); got != "one of alpha, libc6:i386: somebody killed dpkg" {
		t.Error(got)
	}
	if got := oneOf([]int{1}, moves, failed); got != failed {
		t.Error(got)
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
		if got := cures(&verb.GroupMove{From: image.Of(&c.from),
			To: image.Of(&c.to)}); got != c.want {
			t.Errorf("%+v to %+v: %v, want %v", c.from, c.to, got, c.want)
		}
	}
}
