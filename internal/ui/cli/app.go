// Package cli is the common part of all commands: the dependencies of a program, the global flags, the
// repository and the targets that they select, output, errors and exit codes. Each command is one file
// of a subpackage. It reads flags, calls the packages below, and passes their results to ui/render:
//
//	commands    the commands of fettle, with their groups
//	repository  reads, checks and compares repositories
//	host        plans, applies, rolls back, and shows the state of hosts
//	once        one-time operations that are not part of the applied state
//	fleet       hubs, agents, targets, jobs and users of a fleet
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
	"cmp"
	"context"
	"io"
	"iter"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/here"
	"fettle.dev/fettle/internal/executor/ssh"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/kind/generator"
	"fettle.dev/fettle/internal/lang/query"
	langsource "fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/secret/vault"
)

// Machine identifies the machine of a command.
type Machine = here.Machine

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

// Console interacts with a user at the terminal of this process.
type Console struct {
	// Password prompts for a password on the terminal, without an echo; nil: there is no terminal.
	Password func(prompt string) (string, error)
	// Interrupts receives the signals of the user until the returned function is called, for a command
	// that first stops gently; nil: signals cancel the context.
	Interrupts func() (<-chan struct{}, func())
	// Interactive runs a program on the terminal: an editor; nil: there is none.
	Interactive func(ctx context.Context, argv []string) error
}

// Programs runs programs of a repository.
type Programs struct {
	// Ask returns the answer to a lookup of the repository in a directory; nil: lookups are refused.
	Ask func(ctx context.Context, l langsource.Lookup, dir string) ([]byte, error)
	// Generate runs a generator of a repository in a sandbox.
	Generate func(ctx context.Context, tree repo.Tree, g generator.Run) ([]byte, error)
}

// Agent has the dependencies of the agent of this machine.
type Agent struct {
	// State opens a state directory for the files of an agent, and creates it if necessary; nil: there
	// are no agents.
	State func(m Machine) (host.FS, func() error, error)
	// Services opens the file system of a machine from its root, and returns a function that reloads a
	// unit; nil: machines have no services.
	Services func(m Machine) (files host.FS, reload func(ctx context.Context, unit string) error, closing func() error,
		err error)
	// Watch returns the ID of the boot of a machine, and a function that reports changes of its units,
	// which may be nil. nil: both are unknown.
	Watch func(m Machine) (boot string, units func(ctx context.Context, each func(name string)) error)
	// Ready notifies the service manager that a daemon is ready, and then sends keep-alives until ctx
	// ends or the returned function is called. It reports that end, too.
	Ready func(ctx context.Context) func()
	// Calm releases resources that a daemon needs only while it works. worked is false if it has not
	// worked since the last call. nil: nothing is released.
	Calm func(worked bool)
	// Binary is the file of this binary; nil: it cannot be replaced.
	Binary *Binary
}

// Terminal says which streams are a terminal, and how wide it is.
type Terminal struct {
	In, Out, Err bool
	Name         string // of the device of In, such as /dev/pts/3; "" if it is unknown
	Width        int    // columns; 0 is unlimited
	Height       int    // rows; 0 is unlimited
	// Page runs a pager on the terminal and gives it a text; nil: there is no pager.
	Page func(ctx context.Context, argv []string, text string) error
}

// Language reads repositories and compiles lists. Answers and functions are pure.
type Language struct {
	// Queries answers one question after another.
	Queries compile.Answerer
	// Parallel answers questions of several goroutines at once; nil: Queries.
	Parallel compile.Answerer
	// Sealed is like Parallel, but all secrets are placeholders, as in tests; nil: Queries.
	Sealed compile.Answerer
	// Limit sets the time limit and the memory limit of the compiler, in bytes, before a repository is
	// read; 0 is the default. nil: the compiler has no limits.
	Limit func(timeout time.Duration, memory int64)
	// Secrets sets the identities that decrypt secrets, before a repository is read; nil: the compiler
	// has no secrets.
	Secrets func(ids func() (vault.Identities, error))
	// Prepare starts the compiler, because a question follows soon. It may be nil.
	Prepare func()
	// Fleet compiles many targets, with their lists or only the digests of the lists; it ignores
	// the target of the input. A target with an error is missing in the result. nil: one target after
	// another.
	Fleet func(in compile.Input, targets []string, lists bool) ([]compile.Member, diag.List)
	// Names are the names of the targets of two revisions of a repository, in any order. Diff compares
	// the lists of targets at both, some at a time and in their order. Its errors can differ from the
	// errors of a compilation, so callers compile to report them. nil: one target after another.
	Names func(before, now repo.Tree) ([2][]string, [2]diag.List)
	Diff  func(before repo.Tree, in compile.Input, targets []compile.Compared) iter.Seq2[[]compile.Difference, diag.List]
	// Format gives the canonical form of one source file.
	Format func(path string, src []byte) ([]byte, diag.List)
	// Kinds are the kinds of states that are built in, sorted by name.
	Kinds func() []kind.Kind
}

// Compile compiles one list.
func (l Language) Compile(in compile.Input) (compile.Result, diag.List) {
	return compile.Ask(l.Queries, compile.ListQuery{Input: in})
}

// Inventory returns the known data of the targets except facts, with the address of each, sorted by
// name; nil if a target has an error.
func (l Language) Inventory(tree repo.Tree) ([]query.Target, diag.List) {
	list, ds := compile.Ask(l.Queries, compile.TargetsQuery{About: compile.About{Tree: tree}})
	slices.SortFunc(list, func(a, b query.Target) int { return cmp.Compare(a.Name, b.Name) })
	return list, ds
}

// Targets returns the names of the targets that a repository declares, sorted.
func (l Language) Targets(tree repo.Tree) (names []string, ds diag.List) {
	list, ds := l.Inventory(tree)
	for _, t := range list {
		names = append(names, t.Name)
	}
	return names, ds
}

// Variable is one variable in the output of explain var.
type Variable struct {
	Module string  `json:"module"` // "the top level" or "module web"
	Name   string  `json:"name"`
	Type   string  `json:"type"`
	Value  string  `json:"value,omitempty"` // as JSON; "" when it has none
	Source string  `json:"source"`          // where it is declared, file:line
	Layers []Layer `json:"layers"`
}

// Layer is one place that sets a variable.
type Layer struct {
	// Name is default, repository, role web, target group prod, a data file,
	// target, module block or command line.
	Name   string `json:"name"`
	Value  string `json:"value"`            // as JSON
	Merge  string `json:"merge,omitempty"`  // shallow or deep: the value is merged into those before it
	Source string `json:"source,omitempty"` // file:line; "" for the command line
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

// TimeZone is the time zone of the times that are shown.
func (a *App) TimeZone() *time.Location {
	if a.Zone == nil {
		return time.UTC
	}
	return a.Zone
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

// Support is the data of a support bundle about a machine that the engine does not have.
type Support struct {
	// Records counts the records of each run's journal by kind.
	Records map[int]map[string]int
	// Outputs are the outputs of harmless commands by name: disks, packages.
	Outputs map[string]string
	// Missing says in a sentence each what could not be found out.
	Missing []string
}
