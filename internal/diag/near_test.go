package diag_test

import (
	"testing"

	"fettle.dev/fettle/internal/diag"
)

func TestNearest(t *testing.T) {
	names := []string{"ssh", "nginx", "nginy", "cron"}
	for _, tc := range []struct {
		written string
		limit   int
		want    string
	}{
		{"ngnix", 2, "nginx"}, // exchanged neighbours are one edit
		{"ngnix", 1, ""},
		{"nginz", 2, "nginx"}, // the first of equals
		{"nginx", 2, "nginy"}, // not itself
		{"crn", 2, "cron"},
		{"web", 2, ""},
		{"", 2, ""},
	} {
		if got := diag.Nearest(tc.written, names, tc.limit); got != tc.want {
			t.Errorf("%q below %d: %q, want %q", tc.written, tc.limit, got, tc.want)
		}
	}
}
