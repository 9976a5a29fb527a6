package host

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/here"
	"fettle.dev/fettle/internal/executor/ssh"
	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/ui/cli"
)

// NewServe is what OpenSSH starts on a target: it speaks the protocol of executors
// over its standard streams until they end.
func NewServe(s *cli.Session) *cobra.Command {
	var from string
	c := &cobra.Command{
		Use:    ssh.ServeCommand,
		Short:  "Serve this host to a remote fettle",
		Hidden: true,
		Args:   cli.Args(0, 0),
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

func serve(ctx context.Context, s *cli.Session, from string) error {
	m, err := s.Machine()
	if err != nil {
		return err
	}
	served := ServedBy(ctx, s.Printer, m, here.From(from, s.App.Env))
	return wire.Serve(ctx, stdio{s.App.Stdin, s.App.Stdout}, served)
}

// ServedBy returns the services of this machine for another end of the protocol; from is the origin of
// its commands.
func ServedBy(ctx context.Context, s *cli.Printer, m cli.Machine, from string) wire.Served {
	return here.Server{
		Machine: m, Version: s.App.Version, User: s.User(), From: from, Now: s.App.Now,
		Hostname: s.App.Hostname, Open: s.App.OpenExecutor, Facts: s.App.Facts, Beside: s.App.Beside,
	}.Served(ctx)
}

// RequestHere compiles the repository for this host, with the options of fettle apply without flags. If there is no
// error, the caller calls closing at the end.
func RequestHere(ctx context.Context, s *cli.Session) (r executor.Request, o executor.Options, closing func(),
	err error) {
	r, closing, err = s.Request(ctx, true)
	if err != nil {
		return r, o, nil, err
	}
	if s.Remote != nil {
		closing()
		return r, o, nil, cli.Refuse("See its plan: fettle plan -t "+r.Target,
			fmt.Sprintf("cannot plan for this host: the target %s is another host", r.Target))
	}
	f := RunFlags{}
	o = executor.Options{OnFailure: "stop", OnCrash: "undo", Version: s.App.Version}
	r.Repair = r.Policy.Drift != "report"
	if o, err = lockOut(s, f, f.withPolicy(o, r.Policy), r.Policy); err != nil {
		closing()
	}
	return r, o, closing, err
}
