package members

import (
	"fmt"
	"testing"
	"time"
)

// TestEmptying: a retired hub stays while it moves its agents, but not longer than a minute without progress.
func TestEmptying(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(1000+s), 0) }
	e := emptying{}
	for _, step := range []struct {
		second  int
		leaving []string
		agents  map[string]int
		want    string
	}{
		{0, nil, map[string]int{"a": 9}, "[]"},
		{1, []string{"a"}, map[string]int{"a": 9, "b": 9}, "[a]"},
		{60, []string{"a"}, map[string]int{"a": 9}, "[a]"},
		{61, []string{"a"}, map[string]int{"a": 9}, "[]"},
		{62, []string{"a"}, map[string]int{"a": 8}, "[a]"},
		{121, []string{"a"}, map[string]int{"a": 8}, "[a]"},
		{122, []string{"a"}, map[string]int{"a": 12}, "[]"},
		{123, []string{"a"}, map[string]int{"b": 12}, "[]"},
		{124, nil, nil, "[]"},
		{125, []string{"a", "c"}, map[string]int{"a": 2, "c": 1}, "[a c]"},
		{126, []string{"a", "c"}, map[string]int{"c": 1}, "[c]"},
	} {
		if got := fmt.Sprint(e.names(step.leaving, step.agents, at(step.second))); got != step.want {
			t.Errorf("after %d s: %s stay, want %s", step.second, got, step.want)
		}
	}
}
