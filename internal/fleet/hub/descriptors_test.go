package hub

import "testing"

// All shares together leave a quarter of the descriptors, or 4,096, for the hub itself.
func TestBudgets(t *testing.T) {
	for descriptors, want := range map[int][4]int{
		1500:  {281, 140, 844, 211},
		65536: {4096, 1024, 57344, 1024},
		0:     {4096, 1024, 57344, 1024},
		4:     {1, 1, 3, 1},
	} {
		https, agents := budgets(descriptors)
		if got := [4]int{https.Most, https.Strangers, agents.Most, agents.Strangers}; got != want {
			t.Errorf("%d descriptors are divided as %v instead of %v", descriptors, got, want)
		}
	}
}
