package scope

import "testing"

// TestNearest: an error about an unknown scope suggests the one that the user meant.
func TestNearest(t *testing.T) {
	ids := []string{"rack/r1", "cluster/search", "cluster/all", "zone/search"}
	for written, want := range map[string]string{
		"cluster/al": "cluster/all", "all": "cluster/all", "al": "cluster/all", "search": "cluster/search",
		"rack/search": "cluster/search", "cluster/serach": "cluster/search", "rakc/r1": "rack/r1",
		"cluster/search": "zone/search", "cluster/mail": "cluster/all", "cluster/queue": "", "queue": "", "": "", "rack/": "",
	} {
		if got := Nearest(written, ids); got != want {
			t.Errorf("%q: got %q, want %q", written, got, want)
		}
	}
}
