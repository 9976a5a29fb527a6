package local_test

import (
	"os"
	"testing"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/hosttest"
	"fettle.dev/fettle/internal/host/local"
)

func TestHost(t *testing.T) {
	root := os.Geteuid() == 0
	hosttest.Run(t, hosttest.Traits{Owners: root}, func(t *testing.T) host.Host {
		h, err := local.Open(t.TempDir(), local.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = h.Close() })
		return h
	})
}
