package executor_test

import (
	"testing"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/repo"
)

func TestRecording(t *testing.T) {
	clone, fleet, both := repo.Identity{Root: "a", Dir: "/src"}, repo.Identity{Fleet: "f"},
		repo.Identity{Root: "a", Dir: "/src", Fleet: "f"}
	for _, c := range []struct {
		name         string
		was, is, out repo.Identity
		adopt        bool
	}{
		{"nothing is known", fleet, repo.Identity{}, fleet, false},
		{"two parts of one", fleet, clone, both, false},
		{"an operator adopts the host of an agent", fleet, clone, both, true},
		{"an agent adopts the host of an operator", clone, fleet, fleet, true},
		{"another repository", both, repo.Identity{Root: "b"}, repo.Identity{Root: "b"}, true},
		{"the same", both, clone, both, true},
	} {
		st := journal.State{Run: 1, Repository: journal.RecordedIdentity(c.was)}
		if got := executor.Recording(&executor.Request{Repository: c.is, Adopt: c.adopt}, st); got != c.out {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}
