package web_test

import (
	"testing"

	"fettle.dev/fettle/test/fakehub"
)

// BenchmarkFleetPage reads the page of ten thousand targets from a hub over a socket, and renders it.
func BenchmarkFleetPage(b *testing.B) {
	s := siteOf(b, fakehub.Large{N: 10_000})
	for b.Loop() {
		b.ReportMetric(float64(read(s, "/").Body.Len())/1000, "KB")
	}
}
