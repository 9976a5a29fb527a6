package web_test

import (
	"fmt"
	"testing"

	"fettle.dev/fettle/test/fakehub"
)

// BenchmarkFleetPage reads the page of a fleet from a hub over a socket, and renders it. It has a tile for each of ten
// thousand targets, and groups of a hundred thousand.
func BenchmarkFleetPage(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := siteOf(b, fakehub.Large{N: n})
			for b.Loop() {
				b.ReportMetric(float64(read(s, "/?by=site").Body.Len())/1000, "KB")
			}
		})
	}
}

// TestVeryManyTargets: the page of a hundred thousand targets has a bar for each group instead of tiles, and pages of
// the table with a cursor. A filter begins with the first page again.
func TestVeryManyTargets(t *testing.T) {
	s := siteOf(t, fakehub.Large{N: 100_000})
	contains(t, s, "/?by=site", "100000 targets", `<rect class="good"`, `href="/?select=label%3Asite%3Dsite3">site3</a>`,
		"at most 10,000 targets", `after=50&amp;by=site#targets"`, "host00049")
	contains(t, s, "/?after=50&state=failed", "First page", "host00099", `href="/?state=ready"`,
		"fettle target list --in-state failed --after 50")
	contains(t, s, "/", `<rect class="bad"`, "100000 targets")
}
