package apply_test

import (
	"context"
	"slices"
	"testing"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/local"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
)

// sweeping is a machine that records the packages whose temporary files are removed.
type sweeping struct {
	*mem.Host
	names []string
}

func (s *sweeping) Packages() (host.Packages, error) {
	p, err := s.Host.Packages()
	return sweepingPackages{p, s}, err
}

type sweepingPackages struct {
	host.Packages
	s *sweeping
}

func (p sweepingPackages) Sweep(_ context.Context, names []string, since int64) error {
	if since > 0 {
		p.s.names = append(p.s.names, names...)
	}
	return nil
}

// TestSweepAfterACrash: if dpkg was interrupted, the temporary files of the changed packages are removed.
func TestSweepAfterACrash(t *testing.T) {
	for op, want := range map[string][]string{"dpkg": {"lib", "tool", "web"}, "": nil} {
		w := newWorld(t).copy()
		if op != "" {
			w = w.cutAt(t, "PKG tool\nPKG web version=2\n", host.OpRun, op)
		}
		m := &sweeping{Host: w.h}
		x, err := local.New(m, w.st, options())
		must(t, err)
		_, err = x.Recover(context.Background(), executor.Options{OnCrash: "finish"}, nil)
		must(t, err)
		if !slices.Equal(m.names, want) {
			t.Errorf("interrupted in %q: %q, want %q", op, m.names, want)
		}
	}
}
