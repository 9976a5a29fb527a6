package main

import (
	"os"
	"time"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/executor/here"
	"fettle.dev/fettle/internal/host/local"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/ui/cli"
)

// console is the command line for a user on this host.
func console() *cli.App {
	return &cli.App{
		OpenExecutor: open,
		Facts:        here.Facts,
		Beside:       here.Beside,
		Language: cli.Language{
			Compile:   func(compile.Input) (compile.Result, diag.List) { return compile.Result{}, mute() },
			Targets:   func(repo.Tree) ([]string, diag.List) { return nil, mute() },
			Inventory: func(repo.Tree) ([]query.Target, diag.List) { return nil, mute() },
		},
		Stdin:    os.Stdin,
		Stdout:   os.Stdout,
		Stderr:   os.Stderr,
		Terminal: cli.TerminalOf(os.Stdin, os.Stdout, os.Stderr, nil),
		Login:    login,
		Now:      time.Now,
		Zone:     time.Local,
		Hostname: os.Hostname,
		Env:      os.Getenv,
		Version:  version,
		Build:    local.Build(version),
	}
}

// mute is why no repository is read here.
func mute() diag.List {
	return diag.List{diag.Errorf(diag.Range{}, "Cannot read a repository here", "This is the program that fettle brings to a target. Work with the repository where fettle itself is.")}
}
