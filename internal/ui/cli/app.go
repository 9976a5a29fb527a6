// Package cli is the common part of all commands: the dependencies of a program, the global flags, the
// repository and the targets that they select, output, errors and exit codes. Each command is one file
// of a subpackage. It reads flags, calls the packages below, and passes their results to ui/render:
//
//	commands    the commands of fettle, with their groups
//	repository  reads, checks and compares repositories
//	host        plans, applies, rolls back, and shows the state of hosts
//	once        one-time operations that are not part of the applied state
//	fleet       targets and jobs of a fleet
//	hub         the hubs of a fleet
//	agent       a host that is a target of a fleet
//	secrets     the secrets of a repository
//	explain     the sources of the state of a host
//	hubclient   the hub of the user, for the commands that ask it
//
// A program chooses its commands:
//
//	app := &cli.App{OpenExecutor: open, Language: language, Commands: commands.All(nil), Stdout: os.Stdout, …}
//	os.Exit(app.Main(ctx, os.Args[1:]))
//
// All access to the machine is a field of App, so a test runs the whole command line in its own process. The binary for targets has only the packages cli, host and once.
package cli

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/ssh"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/kind/generator"
	langsource "fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/repo"
)

// App is the command line with its dependencies. Stdin, Stdout, Stderr, OpenExecutor, Language, Facts,
// Now, Hostname and Env must be set.
type App struct {
	// OpenExecutor opens the engine of a machine. The returned function closes it.
	OpenExecutor func(ctx context.Context, m Machine) (executor.Executor, func() error, error)
	// Facts observes a machine: every fact by name.
	Facts    func(ctx context.Context, m Machine) (map[string]cty.Value, error)
	Language Language
	// Beside opens an existing state directory for files beside the journal: caches and reports. If it
	// is nil, none are stored.
	Beside func(m Machine) (host.FS, func() error, error)
	// OwnCache creates the cache directory of the user, to which no other user can write; nil: there
	// is no cache.
	OwnCache func() (string, error)

	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Terminal       Terminal
	// Login returns the account that runs this process, if the environment does not name it; nil: root.
	Login    func() string
	Now      func() time.Time
	Zone     *time.Location // of the times shown; nil is UTC
	Hostname func() (string, error)
	Env      func(name string) string
	Version  string
	// HubSocket is the file of the socket at which a hub on this machine listens for root; "" is the
	// socket of its service.
	HubSocket string
	// Build identifies the binary more exactly than Version: caches of compiled lists depend on it.
	Build string
	// Support reads data that only a support bundle needs; nil: the bundle has no such data.
	Support func(ctx context.Context, m Machine) Support
	// Commands are the commands of this binary.
	Commands Commands
	SSH      SSH
	Console  Console
	Programs Programs
	Agent    Agent
	// Walls describes the limits of the compiler on this machine; nil: there are none.
	Walls func() []string
}

// SSH reaches other machines.
type SSH struct {
	// Connect connects to another machine over SSH. If kept is true, it may use the open connection of
	// an earlier command, and leaves the connection open for the next. nil: there is no SSH.
	Connect func(ctx context.Context, a ssh.Address, o ssh.Options, kept bool) (Remote, error)
	// Forget deletes this binary on another machine; nil: there is no SSH.
	Forget func(ctx context.Context, a ssh.Address, o ssh.Options) error
}

// Programs runs programs of a repository.
type Programs struct {
	// Ask returns the answer to a lookup of the repository in a directory; nil: lookups are refused.
	Ask func(ctx context.Context, l langsource.Lookup, dir string) ([]byte, error)
	// Generate runs a generator of a repository in a sandbox.
	Generate func(ctx context.Context, tree repo.Tree, g generator.Run) ([]byte, error)
}

// NewCommand builds a command for a command line.
type NewCommand func(*Session) *cobra.Command

// Commands are the commands of a binary.
type Commands struct {
	Groups []Group      // as help shows them
	Hidden []NewCommand // that other fettle processes call
	// Serve is the command of a target that serves. It starts for every contact and has no use for any
	// other command, so it is built alone.
	Serve NewCommand
	// HubAccess reaches targets through the hub of a user; nil: all targets are reached over SSH.
	HubAccess func(*Session) HubAccess
	// FleetStatus shows the counts of the fleet, again after each change if watch is set; nil: this
	// binary cannot.
	FleetStatus func(ctx context.Context, s *Printer, watch bool) error
}

// Group is a set of related commands.
type Group struct {
	ID, Title string
	Short     string // the title on the first screen
	Commands  []NewCommand
}
