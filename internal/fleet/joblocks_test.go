package fleet_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
)

// TestCommandWithLocks: the program of a command with locks is not in the field that agents of earlier versions run.
func TestCommandWithLocks(t *testing.T) {
	good := fleet.Command{Locks: []string{"a", "db-migrate"}, Locked: []string{"/bin/true", "x"}}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	if got := good.Program(); !slices.Equal(got, good.Locked) {
		t.Errorf("the program is %q", got)
	}
	text, err := json.Marshal(good)
	if err != nil || strings.Contains(string(text), "argv") {
		t.Errorf("%s, %v", text, err)
	}
	many := make([]string, 21)
	for i := range many {
		many[i] = "l" + strings.Repeat("x", i)
	}
	for name, c := range map[string]fleet.Command{
		"no program":     {Locks: []string{"a"}},
		"no locks":       {Locked: []string{"x"}},
		"two programs":   {Locks: []string{"a"}, Locked: []string{"x"}, Argv: []string{"x"}},
		"unlocked":       {Locks: []string{"a"}, Argv: []string{"x"}},
		"an action":      {Locks: []string{"a"}, Locked: []string{"x"}, Action: "y"},
		"read-only":      {Locks: []string{"a"}, Locked: []string{"x"}, ReadOnly: true},
		"empty program":  {Locks: []string{"a"}, Locked: []string{""}},
		"a bad name":     {Locks: []string{"a b"}, Locked: []string{"x"}},
		"a long name":    {Locks: []string{strings.Repeat("x", 64)}, Locked: []string{"x"}},
		"not sorted":     {Locks: []string{"b", "a"}, Locked: []string{"x"}},
		"twice":          {Locks: []string{"a", "a"}, Locked: []string{"x"}},
		"too many locks": {Locks: many, Locked: []string{"x"}},
		"long arguments": {Locks: []string{"a"}, Locked: []string{strings.Repeat("x", fleet.MaxCommand)}},
	} {
		if c.Check() == nil {
			t.Errorf("%s: no error for %+v", name, c)
		}
	}
}
