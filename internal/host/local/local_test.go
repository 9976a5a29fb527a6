package local_test

import (
	"os"
	"testing"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/hosttest"
	"fettle.dev/fettle/internal/host/local"
)

func open(t *testing.T, root string, opts local.Options) *local.Host {
	t.Helper()
	h, err := local.Open(root, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h
}

func TestHost(t *testing.T) {
	traits := hosttest.Traits{
		Owners:  os.Geteuid() == 0,
		Machine: func(t *testing.T) host.Host { return open(t, "/", local.Options{}) },
	}
	hosttest.Run(t, traits, func(t *testing.T) host.Host { return open(t, t.TempDir(), local.Options{}) })
}
