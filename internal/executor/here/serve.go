package here

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/secret/vault"
)

// silence is the time without traffic after which the server pings the other end.
const silence = 20 * time.Second

// Server serves a machine to another end. All but Beside must be set.
type Server struct {
	Machine Machine
	Version string // of this program
	User    string // the account that runs the process
	From    string // the origin of the connection, for the history
	Now     func() time.Time

	Hostname func() (string, error)
	Open     func(ctx context.Context, m Machine) (executor.Executor, func() error, error)
	Facts    func(ctx context.Context, m Machine) (map[string]cty.Value, error)
	// Beside opens the state directory for reports that no client received. With nil such
	// reports are not stored.
	Beside func(m Machine) (host.FS, func() error, error)
}

// Served adapts the machine to the protocol of executors. The hello message contains the
// facts that the machine cannot determine itself.
func (s Server) Served(ctx context.Context) wire.Served {
	return wire.Served{
		Hello: s.hello(ctx), From: s.From, Silence: silence, Now: s.Now,
		Open: func(ctx context.Context, looks bool) (executor.Executor, func() error, error) {
			m := s.Machine
			m.ReadOnly = looks && !there(m.State)
			return s.Open(ctx, m)
		},
		Identity: func() (string, error) {
			public, _, err := MakeIdentity(filepath.Join(s.Machine.Root, IdentityFile))
			return public, err
		},
		Keep: func(e wire.Ended) error { return s.withReports(func(r wire.Reports) error { return r.Keep(e) }) },
		Forget: func(names []string) error {
			return s.withReports(func(r wire.Reports) error { return r.Forget(names) })
		},
	}
}

func (s Server) hello(ctx context.Context) wire.Hello {
	h := wire.Hello{Version: s.Version, User: s.User}
	h.Host, _ = s.Hostname()
	facts, err := s.Facts(ctx, s.Machine)
	if err == nil {
		h.Facts, err = wire.EncodeFacts(facts)
	}
	if err != nil {
		h.Trouble = err.Error()
	}
	if ids, err := ReadIdentity(filepath.Join(s.Machine.Root, IdentityFile)); err == nil {
		if keys := vault.PublicOf(ids); len(keys) > 0 {
			h.Public = keys[0]
		}
	}
	h.Kept = Kept(s.Machine)
	if there(filepath.Join(s.Machine.State, "reports")) {
		_ = s.withReports(func(r wire.Reports) error { h.Ended = r.List(); return nil })
	}
	return h
}

// withReports gives the reports that are kept in the state directory.
func (s Server) withReports(f func(wire.Reports) error) error {
	if s.Beside == nil || !there(s.Machine.State) {
		return nil
	}
	dir, done, err := s.Beside(s.Machine)
	if err != nil {
		return err
	}
	defer func() { _ = done() }()
	return f(wire.Reports{FS: dir})
}

func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
