// Package cli is the command line: one file a command. It reads flags, asks
// the packages below to do the work, and hands what they say to ui/render.
//
//	app := &cli.App{OpenExecutor: open, Language: language, Stdout: os.Stdout, …}
//	os.Exit(app.Main(ctx, os.Args[1:]))
//
// Everything that touches the world outside comes in through App, so that a
// test runs the whole command line in its own process. What is brought to targets is
// built with the tag "target": files that need hubs or the language are not in it.
package cli

import (
	"context"
	"io"
	"iter"
	"time"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/here"
	"fettle.dev/fettle/internal/executor/ssh"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/kind/generator"
	"fettle.dev/fettle/internal/lang"
	"fettle.dev/fettle/internal/lang/schema"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/secret/vault"
)

// Machine says which machine a command is about.
type Machine = here.Machine

// App is the command line with all that it needs. Stdin, Stdout, Stderr,
// OpenExecutor, Language, Facts, Now, Hostname and Env must be set.
type App struct {
	// OpenExecutor opens the engine of a machine. The function returned with
	// it frees what it holds.
	OpenExecutor func(ctx context.Context, m Machine) (executor.Executor, func() error, error)
	// Facts observes a machine: every fact by name.
	Facts    func(ctx context.Context, m Machine) (map[string]cty.Value, error)
	Language Language
	// Beside opens a state directory, which is there, for what is kept beside the journal:
	// what makes the next time faster, and reports; nil keeps nothing.
	Beside func(m Machine) (host.FS, func() error, error)
	// OwnCache makes the directory in which the person at the keyboard keeps what makes the
	// next command faster, and which nobody else can write to; nil: there is none.
	OwnCache func() (string, error)

	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Terminal       Terminal
	// Login is the account that runs this process, for when the environment
	// does not name it; nil: root.
	Login    func() string
	Now      func() time.Time
	Zone     *time.Location // of the times shown; nil is UTC
	Hostname func() (string, error)
	Env      func(name string) string
	Version  string
	// HubSocket is where a hub on this machine listens for root; "" is where its service does.
	HubSocket string
	// Build names the program more closely than Version: what it compiled is
	// kept only for itself.
	Build string
	// Ask asks what a lookup names, for the repository in a directory; nil: nobody.
	Ask func(ctx context.Context, l lang.Lookup, dir string) ([]byte, error)
	// Generate runs a generator of a repository in a sandbox.
	Generate func(ctx context.Context, tree repo.Tree, g generator.Run) ([]byte, error)
	// Connect reaches another machine over SSH; kept tells whether a connection may be
	// one that is kept from before, and is kept for the next. nil: none can be reached.
	Connect func(ctx context.Context, a ssh.Address, o ssh.Options, kept bool) (Remote, error)
	// Forget removes this program from another machine; nil: none can be reached.
	Forget func(ctx context.Context, a ssh.Address, o ssh.Options) error
	// Password asks for one on the terminal, which does not show it; nil: cannot.
	Password func(prompt string) (string, error)
	// Interrupts takes the signals of a person until the function is called, for a
	// command that stops gently first; nil: they cancel the context.
	Interrupts func() (<-chan struct{}, func())
	// Support looks at what only a support bundle needs; nil: nothing more.
	Support func(ctx context.Context, m Machine) Support
	// Interactive runs a program on the terminal: an editor; nil: there is none.
	Interactive func(ctx context.Context, argv []string) error
	// State opens a state directory, which it makes, for what is no journal: an agent's
	// directory; nil: there are no agents.
	State func(m Machine) (host.FS, func() error, error)
	// Services opens the file system of a machine, from its root, and tells how a unit of it
	// reads its files anew; nil: machines have no services.
	Services func(m Machine) (files host.FS, reload func(ctx context.Context, unit string) error, closing func() error, err error)
	// Watch names the boot of a machine and tells which of its units change; units is nil
	// where nobody knows. nil: neither is known.
	Watch func(m Machine) (boot string, units func(ctx context.Context, each func(name string)) error)
	// Ready tells the service manager that a daemon is up, and goes on telling that it is
	// alive until the function is called, or ctx ends, which it tells too.
	Ready func(ctx context.Context) func()
	// Calm gives back what only work needs, when a daemon rests; worked tells
	// whether it has worked since it rested last. nil: nothing is given back.
	Calm func(worked bool)
	// Program is this program as a file; nil: it cannot be exchanged.
	Binary *Binary
	// Hub is this program as a hub; nil: it cannot be one.
	Hub *Hub
	// Walls tells how the compiler is limited on this machine; nil: it is not.
	Walls func() []string
}

// Terminal says which streams are a terminal, and how wide it is.
type Terminal struct {
	In, Out, Err bool
	Name         string // of what In is, such as /dev/pts/3; "" when unknown
	Width        int    // columns; 0 is unlimited
	Height       int    // rows; 0 is unlimited
	// Page runs a pager on the terminal and gives it a text; nil: there is no pager.
	Page func(ctx context.Context, argv []string, text string) error
}

// Language is the front half: from a repository to lists. Every function is
// pure.
type Language struct {
	// Limit is told, before a repository is read, how long compiling it may
	// take and how many bytes of memory, 0 for the defaults; nil for a compiler
	// without limits.
	Limit func(timeout time.Duration, memory int64)
	// Secrets is told, before a repository is read, who opens its secrets; nil for
	// a compiler that has none.
	Secrets func(ids func() (vault.Identities, error))
	// Prepare is told that something will be compiled soon; may be nil.
	Prepare func()
	Compile func(compile.Input) (compile.Result, diag.List)
	// Many is Compile for several goroutines at once; nil: Compile.
	Many func(compile.Input) (compile.Result, diag.List)
	// Fleet is Compile for many targets, with their lists or only the digests of
	// those; the input's target does not count. A target with a mistake is
	// missing in what it gives; nil: Compile, one after the other.
	Fleet func(in compile.Input, targets []string, lists bool) ([]compile.Member, diag.List)
	// Names are Targets of two revisions of a repository, in any order. Diff compares the lists of targets at both, some at a time and
	// in their order. What is wrong may be told in other words than Compile's, so
	// whoever sees a mistake compiles. nil: Compile, one after the other.
	Names func(before, now repo.Tree) ([2][]string, [2]diag.List)
	Diff  func(before repo.Tree, in compile.Input, targets []compile.Compared) iter.Seq2[[]compile.Difference, diag.List]
	// Targets are the names of the targets that a repository declares, sorted.
	Targets func(tree repo.Tree) ([]string, diag.List)
	// Inventory is what is known of those targets without facts, with the way to
	// each, sorted by name; nil where one has a mistake.
	Inventory func(tree repo.Tree) ([]lang.Target, diag.List)
	// Vacant are examples of targets for the groups of a repository that select by label
	// and have none; nil: there are none.
	EmptyGroups func(tree repo.Tree) ([]lang.Target, diag.List)
	// Format gives the canonical form of one source file.
	Format func(path string, src []byte) ([]byte, diag.List)
	// Kinds are the kinds of states that are built in, sorted by name.
	Kinds func() []kind.Kind
	// OwnKinds are those that a repository defines; nil: there are none.
	OwnKinds func(tree repo.Tree) ([]lang.OwnKind, diag.List)
	// Lookups are those that a repository declares.
	Lookups func(tree repo.Tree) ([]lang.Lookup, diag.List)
	// Schema is the JSON Schema of the files of a part of a repository.
	Schema func(tree repo.Tree, part schema.Part) ([]byte, diag.List)
	// Generators are the runs that a target's list is made of.
	Generators func(in compile.Input) ([]generator.Run, diag.List)
	// Variables are the variables of a target that have this name, one for each
	// module that declares it, with every layer that sets it, lowest first.
	Variables func(in compile.Input, name string) ([]Variable, diag.List)
	// CallAction gives the commands of an action of a target, several at the same
	// time: those of its dry run where dry is set and it has some. nil: there are none.
	CallAction func(in compile.Input, name string, params map[string]string, dry bool) (compile.ActionCall, diag.List)
	// Runnable is what a repository can be asked to do, on whatever target.
	// CallCommand gives the parts of a command. nil: there is nothing.
	Runnable    func(tree repo.Tree) (lang.Runnable, diag.List)
	CallCommand func(tree repo.Tree, name string, params map[string]string) ([]lang.Part, diag.List)
	// Tests are the IDs of a repository's tests. RunTest runs one of them, several
	// at the same time.
	Tests   func(tree repo.Tree) ([]string, diag.List)
	RunTest func(tree repo.Tree, id string) compile.Verdict
}

// Variable is what explain var shows.
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
	s := &session{app: a, args: args, command: typed(args, nil), sudo: &sudoAnswer{}, fleet: &hubAnswer{}}
	defer s.closeRemote()
	build := newRoot
	if len(args) > 0 && args[0] == ssh.ServeCommand {
		build = servingRoot
	}
	root := build(s)
	root.SetArgs(args)
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	err := byName(ctx, root.ExecuteContext(ctx))
	s.fail(err)
	return ExitCode(err)
}

func (a *App) zone() *time.Location {
	if a.Zone == nil {
		return time.UTC
	}
	return a.Zone
}
