package fire

import (
	"os"
	"testing"

	"fettle.dev/fettle/test/hosts"
)

// TestMain is also the tracer: a process of its own, because it has to wait for
// whatever child comes next. And it is what the tracer starts.
func TestMain(m *testing.M) {
	switch {
	case os.Getenv(envFiltered) != "":
		os.Exit(filteredMain(os.Args[1:]))
	case os.Getenv(envTracer) != "":
		os.Exit(tracerMain(os.Args[1:]))
	}
	os.Exit(hosts.Main(m))
}

// long tells whether the whole campaign is wanted.
func long() bool { return os.Getenv("FETTLE_LONG") != "" }
