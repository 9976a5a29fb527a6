package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor/here"
	"fettle.dev/fettle/internal/executor/ssh"
	"fettle.dev/fettle/internal/executor/wire"
)

// newServe is what OpenSSH starts on a target: it speaks the protocol of executors
// over its standard streams until they end.
func newServe(s *session) *cobra.Command {
	var from string
	c := &cobra.Command{
		Use:    ssh.ServeCommand,
		Short:  "Serve this host to a remote fettle",
		Hidden: true,
		Args:   args(0, 0),
		RunE:   func(c *cobra.Command, _ []string) error { return serve(c.Context(), s, from) },
	}
	c.Flags().StringVar(&from, "from", "", "the origin of the connection")
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

func serve(ctx context.Context, s *session, from string) error {
	m, err := s.machine()
	if err != nil {
		return err
	}
	served := s.served(ctx, m, here.From(from, s.app.Env))
	return wire.Serve(ctx, stdio{s.app.Stdin, s.app.Stdout}, served)
}

// served returns the services of this machine for another end of the protocol; from is the origin of
// its commands.
func (s *printer) served(ctx context.Context, m Machine, from string) wire.Served {
	return here.Server{
		Machine: m, Version: s.app.Version, User: s.user(), From: from, Now: s.app.Now,
		Hostname: s.app.Hostname, Open: s.app.OpenExecutor, Facts: s.app.Facts, Beside: s.app.Beside,
	}.Served(ctx)
}
