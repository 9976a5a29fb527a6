package cli

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/ssh"
	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/secret/vault"
)

// silence is how long the other end may say nothing before it is asked for a sign of
// life.
const silence = 20 * time.Second

// newServe is what OpenSSH starts on a target: it speaks the protocol of executors
// over its standard streams until they end.
func newServe(s *session) *cobra.Command {
	var from string
	c := &cobra.Command{
		Use:    ssh.ServeCommand,
		Short:  "Serve this machine to a fettle at the other end",
		Hidden: true,
		Args:   args(0, 0),
		RunE:   func(c *cobra.Command, _ []string) error { return s.serve(c.Context(), from) },
	}
	c.Flags().StringVar(&from, "from", "", "where the connection comes from")
	return c
}

// stdio is the standard streams as one. Closing them is for the process to end.
type stdio struct {
	io.Reader
	io.Writer
}

func (s stdio) Close() error {
	if c, ok := s.Writer.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

func (s *session) serve(ctx context.Context, from string) error {
	m, err := s.machine()
	if err != nil {
		return err
	}
	served := s.served(ctx, m, strings.TrimSpace("ssh "+from))
	return wire.Serve(ctx, stdio{s.app.Stdin, s.app.Stdout}, served)
}

// served is this machine as it is served to another end; from is how that came here.
func (s *session) served(ctx context.Context, m Machine, from string) wire.Served {
	return wire.Served{
		Hello: s.hello(ctx, m), From: from, Silence: silence, Now: s.app.Now,
		Open: func(ctx context.Context, looks bool) (executor.Executor, func() error, error) {
			m := m
			m.Looks = looks && !fileExists(m.State)
			return s.app.OpenExecutor(ctx, m)
		},
		Identity: func() (string, error) {
			public, _, err := makeIdentity(filepath.Join(m.Root, identityFile))
			return public, err
		},
		Keep: func(e wire.Ended) error { return s.withReports(m, func(r wire.Reports) error { return r.Keep(e) }) },
		Forget: func(names []string) error {
			return s.withReports(m, func(r wire.Reports) error { return r.Forget(names) })
		},
	}
}

// hello is how this machine introduces itself. What it cannot tell is said there.
func (s *session) hello(ctx context.Context, m Machine) wire.Hello {
	h := wire.Hello{Version: s.app.Version, User: s.user()}
	h.Host, _ = s.app.Hostname()
	facts, err := s.app.Facts(ctx, m)
	if err == nil {
		h.Facts, err = wire.EncodeFacts(facts)
	}
	if err != nil {
		h.Trouble = err.Error()
	}
	if ids, err := readIdentity(filepath.Join(m.Root, identityFile)); err == nil {
		if keys := vault.PublicOf(ids); len(keys) > 0 {
			h.Public = keys[0]
		}
	}
	if fileExists(filepath.Join(m.State, "reports")) {
		_ = s.withReports(m, func(r wire.Reports) error { h.Ended = r.List(); return nil })
	}
	return h
}

// withReports gives the reports that are kept in the state directory.
func (s *session) withReports(m Machine, f func(wire.Reports) error) error {
	if s.app.Cache == nil || !fileExists(m.State) {
		return nil
	}
	dir, done, err := s.app.Cache(m)
	if err != nil {
		return err
	}
	defer func() { _ = done() }()
	return f(wire.Reports{FS: dir.FS})
}
