package cli

import (
	"context"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor/ssh"
)

const rootLong = `fettle keeps hosts in the state that a git repository describes, and can undo
its changes.

A repository compiles to a list of atomic steps. fettle compares the list with
the applied state and with the host, shows the difference as a plan, and
runs it. Every step records its inverse before it acts.

Exit codes:
    0  success, or in sync
    1  error
    2  there are changes or drift (plan, diff, drift, steps diff, steps plan)
    3  a check failed
    4  locked: another fettle works on this host
    5  the plan is stale: the host has changed since
    6  the run was undone
    64 wrong usage: an unknown command or flag, a wrong number of arguments

Signals: the first SIGINT, SIGTERM or SIGHUP stops cleanly. Running steps are
finished or undone, and the journal records the result. A second signal ends
fettle at once; the next start recovers the run.`

// Root is the complete command tree, for documentation and tests. Main builds its own.
func (a *App) Root() *cobra.Command {
	return newRoot(&Session{Printer: &Printer{App: a}, links: links{sudo: &sudoAnswer{}}})
}

// newRoot builds the whole command tree.
func newRoot(s *Session) *cobra.Command {
	root := bareRoot(s)
	for _, g := range s.App.Commands.Groups {
		root.AddGroup(&cobra.Group{ID: g.ID, Title: g.Title})
		for _, build := range g.Commands {
			c := build(s)
			c.GroupID = g.ID
			root.AddCommand(c)
		}
	}
	root.SetHelpCommandGroupID("more")
	for _, build := range s.App.Commands.Hidden {
		root.AddCommand(build(s))
	}
	return root
}

// bareRoot is the command tree without commands.
func bareRoot(s *Session) *cobra.Command {
	root := &cobra.Command{
		Use:           "fettle",
		Short:         "Keep hosts in the state that a git repository describes",
		Long:          rootLong,
		Example:       "  fettle init hello && cd hello\n  fettle plan\n  sudo fettle apply\n  sudo fettle rollback",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          Args(0, 0),
		Version:       s.App.Version,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error { return s.chooseOne(c) }
	s.flags(root)
	helpOfUsed(root, s.App.Commands.Groups, s.widthOf(s.App.Terminal.Out))
	root.SetVersionTemplate(versionLine(s.App.Version))
	root.SetFlagErrorFunc(FlagError)
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(&cobra.Command{Hidden: true, Use: "no-help"})
	return root
}

// Main runs one command line and gives the exit code. It prints every error
// itself. Cancelling ctx stops the work cleanly.
func (a *App) Main(ctx context.Context, args []string) int {
	s := &Session{Printer: &Printer{App: a}, typedLine: typedLine{args: args, Command: typed(args, nil)},
		links: links{sudo: &sudoAnswer{}}}
	s.HubAccess = noHub{s}
	if a.Commands.HubAccess != nil {
		s.HubAccess = a.Commands.HubAccess(s)
	}
	defer s.closeRemote()
	root := rootOf(s, args)
	root.SetArgs(args)
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	err := byName(ctx, root.ExecuteContext(ctx))
	s.Fail(err)
	return ExitCode(err)
}

// rootOf is the command tree for a command line.
func rootOf(s *Session, args []string) *cobra.Command {
	serve := s.App.Commands.Serve
	if serve == nil || len(args) == 0 || args[0] != ssh.ServeCommand {
		return newRoot(s)
	}
	root := bareRoot(s)
	root.AddCommand(serve(s))
	return root
}
