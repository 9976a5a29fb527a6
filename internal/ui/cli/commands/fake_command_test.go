package commands_test

import (
	"context"
	"io"
	"os"
	"strconv"
	"strings"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
)

// Command plays three programs: echo, complain (on stderr), and exit N.
func (f *fake) Command(_ context.Context, c executor.Command, o executor.Options,
	show func(executor.Output)) (*executor.CommandResult, error) {
	if f.mode == "locked" {
		return nil, executor.ErrLocked
	}
	if f.Frozen != nil && !c.ReadOnly && !o.IgnoreFreeze {
		return nil, executor.ErrFrozen
	}
	res := &executor.CommandResult{ID: len(f.Ran) + 1}
	rec := journal.Command{ID: res.ID, Action: c.Action, Argv: c.Argv, User: o.User, From: o.From, Typed: o.Command,
		Started: fakeNow.UnixNano(), Ended: fakeNow.UnixNano(), Outcome: journal.Succeeded}
	say := func(stderr bool, text string) {
		if stderr {
			res.Stderr += text
		} else {
			res.Stdout += text
		}
		if show != nil {
			show(executor.Output{Stderr: stderr, Text: []byte(text)})
		}
	}
	for _, argv := range c.Argv {
		words := strings.Join(argv[1:], " ")
		switch argv[0] {
		case "complain":
			say(true, words+"\n")
		case "exit":
			res.Exit, _ = strconv.Atoi(words)
		default:
			say(false, strings.Join(append([]string{words}, c.Env...), " ")+"\n")
		}
		if res.Exit != 0 {
			rec.Outcome = journal.Failed
			break
		}
	}
	rec.Exit, rec.Stdout, rec.Stderr = res.Exit, res.Stdout, res.Stderr
	f.Ran = append(f.Ran, rec)
	return res, f.save()
}

func (f *fake) Commands(context.Context) ([]journal.Command, error) { return f.Ran, nil }

// Put and Get copy files of this machine.
func (f *fake) Put(_ context.Context, file executor.File, from func() (io.ReadCloser, error),
	_ executor.Options) (*executor.PutResult, error) {
	r, err := from()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	if old, err := os.ReadFile(file.Path); err == nil && string(old) == string(text) {
		return &executor.PutResult{}, nil
	}
	return &executor.PutResult{ID: 1, Changed: true, Sent: true}, os.WriteFile(file.Path, text, 0o644)
}

func (f *fake) Get(_ context.Context, path string, to io.Writer) (executor.File, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return executor.File{}, err
	}
	_, err = to.Write(text)
	return executor.File{Path: path, Size: int64(len(text)), Mode: "0644"}, err
}
