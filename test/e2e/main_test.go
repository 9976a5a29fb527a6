package e2e

import (
	"os"
	"testing"

	"fettle.dev/fettle/test/hosts"
)

func TestMain(m *testing.M) {
	code := hosts.Main(m, hosts.Releases()...)
	if dir, err := programDir(); err == nil {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}
