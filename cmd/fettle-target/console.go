package main

import (
	"os"
	"time"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/executor/here"
	"fettle.dev/fettle/internal/host/local"
	"fettle.dev/fettle/internal/ui/cli"
	hostcmd "fettle.dev/fettle/internal/ui/cli/host"
	"fettle.dev/fettle/internal/ui/cli/once"
)

// console is the command line for a user on this host.
func console() *cli.App {
	return &cli.App{
		OpenExecutor: open,
		Facts:        here.Facts,
		Beside:       here.Beside,
		Language:     cli.Language{Queries: mute{}},
		Stdin:        os.Stdin,
		Stdout:       os.Stdout,
		Stderr:       os.Stderr,
		Terminal:     cli.TerminalOf(os.Stdin, os.Stdout, os.Stderr, nil),
		Login:        login,
		Now:          time.Now,
		Zone:         time.Local,
		Hostname:     os.Hostname,
		Env:          os.Getenv,
		Version:      version,
		Build:        local.Build(version),
		Commands:     commands(),
	}
}

// commands are the commands for an operator at the console of a target: they show the past runs, and
// restore an earlier state.
func commands() cli.Commands {
	type list = []cli.NewCommand
	return cli.Commands{Groups: []cli.Group{
		{ID: "machine", Short: "Host", Title: "The host:", Commands: list{hostcmd.NewRollback, hostcmd.NewConfirm,
			hostcmd.NewDrift, hostcmd.NewFreeze, hostcmd.NewUnfreeze, hostcmd.NewRecover}},
		{ID: "history", Short: "History", Title: "Status and history:", Commands: list{hostcmd.NewStatus, once.NewFacts,
			hostcmd.NewLog, hostcmd.NewShow}},
		{ID: "more", Short: "Other", Title: "More:", Commands: list{cli.NewHelp, cli.NewVersion}},
	}}
}

// mute reads no repository.
type mute struct{}

// Answer returns an error for the queries that need a repository, and nothing for others.
func (mute) Answer(q compile.Question) (any, diag.List) {
	switch q.Query.(type) {
	case compile.ListQuery, compile.TargetsQuery:
		return nil, diag.List{diag.Errorf(diag.Range{}, "Cannot read a repository here",
			"This is the program that fettle brings to a target. Work with the repository where fettle itself is.")}
	}
	return nil, nil
}
