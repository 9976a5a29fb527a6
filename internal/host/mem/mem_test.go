package mem_test

import (
	"testing"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/hosttest"
	"fettle.dev/fettle/internal/host/mem"
)

func TestHost(t *testing.T) {
	hosttest.Run(t, hosttest.Traits{Owners: true}, func(*testing.T) host.Host { return mem.New(mem.Options{}) })
}
