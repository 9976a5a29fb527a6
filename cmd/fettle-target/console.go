package main

import (
	"os"
	"time"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/executor/here"
	"fettle.dev/fettle/internal/host/local"
	"fettle.dev/fettle/internal/ui/cli"
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
	}
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
