// Command fettle keeps hosts in the state that a git repository describes. This package has the
// signals, the wiring and the exit code; internal/ui/cli has the rest.
//
//	fettle init hello && cd hello && fettle plan
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"os/user"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"fettle.dev/fettle/internal/compile/limited"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/here"
	"fettle.dev/fettle/internal/executor/ssh"
	"fettle.dev/fettle/internal/host/local"
	"fettle.dev/fettle/internal/kind/generator"
	"fettle.dev/fettle/internal/outside"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/sandbox"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/commands"
)

// version is set only by the linker for releases.
var version string

func main() {
	// One dependency can show the use of memory, so the runtime would record it. The records are
	// never read and need 2 MB.
	runtime.MemProfileRate = 0
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	if len(args) > 0 && args[0] == compileChild {
		return runChild(args[1:])
	}
	if len(args) > 0 && args[0] == programChild {
		code, err := sandbox.EnterProgram(args[1:])
		fmt.Fprint(os.Stderr, err)
		return code
	}
	if len(args) > 0 && args[0] == ssh.ServeCommand {
		signal.Ignore(syscall.SIGHUP) // a lost connection does not stop the run
	}
	signals := newSignals(context.Background())
	defer signals.stop()
	ctx := signals.ctx
	compiler := limited.New(ctx, compileChild)
	defer compiler.Close()
	testers := limited.NewPool(ctx, compileChild, runtime.GOMAXPROCS(0))
	defer testers.Close()
	many := limited.NewPoolWith(ctx, compileChild, runtime.GOMAXPROCS(0), compiler)
	defer many.Close()
	app := &cli.App{
		OpenExecutor: func(_ context.Context, m cli.Machine) (executor.Executor, func() error, error) {
			return here.Open(m, local.Build(versionText()))
		},
		Facts:    here.Facts,
		Language: language(compiler, testers, many),
		Beside:   here.Beside, OwnCache: ownCache,
		Stdin:    os.Stdin,
		Stdout:   os.Stdout,
		Stderr:   os.Stderr,
		Terminal: cli.TerminalOf(os.Stdin, os.Stdout, os.Stderr, pager),
		Login:    login,
		Now:      time.Now,
		Zone:     time.Local,
		Hostname: os.Hostname,
		Env:      os.Getenv,
		Version:  versionText(),
		Build:    local.Build(versionText()),
		Support:  support,
		Commands: commands.All(hubRole(compiler)),
		SSH:      cli.SSH{Connect: connector(), Forget: ssh.Forget},
		Console:  cli.Console{Interrupts: signals.take, Password: password, Interactive: interactive},
		Programs: cli.Programs{Ask: ask, Generate: func(ctx context.Context, tree repo.Tree, g generator.Run) ([]byte,
			error) {
			return outside.Generate(ctx, tree, g, programChild)
		}},
		Agent: cli.Agent{
			State: openFiles, Services: services, Watch: watched, Zone: here.Zone, Place: here.Place, Ready: ready,
			Test: here.Check, Runs: here.ServeRuns, Clock: here.Clock,
			Calm:   func(worked bool) { calm(worked, compiler.Close) },
			Binary: programHooks(func() { compiler.Close(); testers.Close(); many.Close() }),
		},
		Walls: func() []string { return sandbox.Walls(compiler.Limits()) },
	}
	return app.Main(ctx, args)
}

// runChild is the compiler in its own process, which the parent reads.
func runChild(args []string) int {
	if err := limited.Child(args, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// interactive runs an editor on this process's terminal.
func interactive(ctx context.Context, argv []string) error {
	return local.Interactive(ctx, argv, nil, os.Stdin, os.Stdout, os.Stderr)
}

// pager shows a text on this process's terminal. Unless the user has set LESS, less keeps colours,
// ends at once if the text fits, and leaves it on the screen. A pager of root must not start programs.
func pager(ctx context.Context, argv []string, text string) error {
	env := []string{"LESSSECURE=1"}
	if os.Getenv("LESS") == "" {
		env = append(env, "LESS=FRX")
	}
	return local.Interactive(ctx, argv, env, strings.NewReader(text), os.Stdout, os.Stderr)
}

// login is the name of the account that runs this process, its number when it
// has no name.
func login() string {
	id := strconv.Itoa(os.Getuid())
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return id
}

func versionText() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}
