package pages

import (
	"context"
	"fmt"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/ui/cli"
	hostcmd "fettle.dev/fettle/internal/ui/cli/host"
	"fettle.dev/fettle/internal/ui/web"
)

// hostSite returns the pages of this host. It fails where fettle status fails, for example without the rights of root.
func hostSite(c *cobra.Command, s *cli.Session) (web.Config, error) {
	way, err := s.Address(c.Context(), s.Target)
	if err != nil {
		return web.Config{}, err
	}
	if way.Far() {
		return web.Config{}, cli.Refuse("See its state: fettle status -t "+s.Target,
			fmt.Sprintf("cannot show %s: it is another host", s.Target))
	}
	m, err := s.Machine()
	if err != nil {
		return web.Config{}, err
	}
	looking := m
	looking.ReadOnly = !cli.FileExists(m.State)
	x, done, err := s.App.OpenExecutor(c.Context(), looking)
	if err != nil {
		return web.Config{}, err
	}
	_, err = x.Condition(c.Context())
	if cerr := done(); err == nil {
		err = cerr
	}
	if err != nil {
		return web.Config{}, err
	}
	name, err := s.App.Hostname()
	if err != nil {
		return web.Config{}, err
	}
	api := web.HostAPI{Name: name, User: s.User(), Serve: func(ctx context.Context) wire.Served {
		return hostcmd.ServedBy(ctx, s.Printer, m, "fettle ui")
	}}
	h := &web.Host{Name: name, Request: oneAtATime(s)}
	h.Flags, h.Repository = given(c)
	return web.Config{Host: h, Now: s.App.Now, Client: api.Client()}, nil
}

// oneAtATime returns the function that compiles the repository: a session has one user at a time.
func oneAtATime(s *cli.Session) func(context.Context) (executor.Request, executor.Options, func(), error) {
	var mu sync.Mutex
	return func(ctx context.Context) (executor.Request, executor.Options, func(), error) {
		mu.Lock()
		defer mu.Unlock()
		return hostcmd.RequestHere(ctx, s)
	}
}

// given returns the global flags of the command line: those for all commands of a host, and those for commands that
// read its repository.
func given(c *cobra.Command) (host, repository []string) {
	c.Root().PersistentFlags().VisitAll(func(f *pflag.Flag) {
		switch {
		case !f.Changed:
		case f.Name == "root" || f.Name == "state":
			host = append(host, "--"+f.Name, f.Value.String())
		case f.Name == "chdir" || f.Name == "rev" || f.Name == "identity":
			repository = append(repository, "--"+f.Name, f.Value.String())
		}
	})
	return host, repository
}
