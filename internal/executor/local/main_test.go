package local_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain makes the random histories the same on every machine, so that a red
// test is always about the change at hand. For new histories:
// go test ./internal/executor/local -rapid.seed=$RANDOM
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("rapid.seed"); f != nil && f.Value.String() == "0" {
		if err := flag.Set("rapid.seed", "20261121"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
