package records

import "testing"

// TestEpochs: a store knows which epochs began in it, except those of earlier versions and very old ones.
func TestEpochs(t *testing.T) {
	empty := Epoch{}.Next(Epoch{Number: 10}).Next(Epoch{Number: 20}).Next(Epoch{Number: 30})
	older := Epoch{Number: 10}.Next(Epoch{Number: 20}).Next(Epoch{Number: 30})
	long := Epoch{}
	for n := range uint64(maxEpochs + 50) {
		long = long.Next(Epoch{Number: 2*n + 2})
	}
	for name, c := range map[string]struct {
		in   Epoch
		n    uint64
		want bool
	}{
		"first":                     {empty, 10, true},
		"earlier":                   {empty, 20, true},
		"newest":                    {empty, 30, true},
		"before the store":          {empty, 9, false},
		"between":                   {empty, 15, false},
		"later":                     {empty, 31, true}, // the copy can be outdated
		"of an earlier version":     {older, 5, true},
		"since the earlier version": {older, 15, false},
		"not listed":                {Epoch{Number: 30}, 15, true},
		"very old":                  {long, 3, true},
		"recent":                    {long, 2*(maxEpochs+50) - 1, false},
	} {
		if got := c.in.MayHaveBegun(c.n); got != c.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
	if n := len(long.Earlier); n != maxEpochs {
		t.Errorf("%d epochs are listed", n)
	}
}
