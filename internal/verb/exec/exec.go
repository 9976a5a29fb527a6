// Package exec is EXEC: a command with guards. A command without any guard runs
// once for each version of its line; the history knows whether it did.
//
//	EXEC initdb /usr/bin/initdb /srv/db creates=/srv/db/PG_VERSION undo="rm -r /srv/db"
package exec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
)

// Exec is EXEC.
type Exec struct{}

// Observe implements verb.Verb: it runs the guards. A guard that cannot run, or does not end by
// itself, is an error, because its answer is unknown.
func (Exec) Observe(ctx context.Context, e verb.Env, s step.Step) (image.Image, error) {
	guarded, unasked := false, ""
	if p := s.Get("creates"); p != "" {
		guarded = true
		if there, err := host.Exists(e.Host, p); err != nil && !host.IsNotDir(err) {
			return image.Image{}, fmt.Errorf("cannot examine %q: %w", p, err)
		} else if there {
			return done(true), nil
		}
	}
	for _, g := range []struct {
		key    string
		answer bool // the command does not run for this answer
		image  image.Exec
	}{{"unless", true, image.Exec{Known: true, Done: true}}, {"only_if", false, image.Exec{Known: true, Done: true, NotWanted: true}}} {
		words, ok := s.Lookup(g.key)
		if !ok {
			continue
		}
		guarded = true
		success, err := guard(ctx, e, s, g.key, words)
		var not *verb.NotAskedError
		switch {
		case errors.As(err, &not):
			unasked = cmp.Or(unasked, not.Why)
		case err != nil:
			return image.Image{}, err
		case success == g.answer:
			return image.Of(&g.image), nil
		}
	}
	if unasked != "" {
		return image.Of(&image.Exec{GuardsNotRun: "its guard was not run: " + unasked}), nil
	}
	return image.Of(&image.Exec{Known: guarded, MissingProgram: lacks(e.Host, s)}), nil
}

// lacks returns the program of the command if the host can report that it does not have it.
func lacks(h host.Host, s step.Step) string {
	f, ok := h.(host.Finder)
	if !ok {
		return ""
	}
	if err := f.Find(s.Args[1], s.Get("cwd")); errors.Is(err, fs.ErrNotExist) && !errors.Is(err, host.ErrUnsupported) {
		return s.Args[1]
	}
	return ""
}

// program is the address of a program as the step names it: a path, or a name.
func program(s step.Step, name string) addr.Addr {
	switch {
	case !strings.Contains(name, "/"):
		return addr.New(addr.KindProgram, name)
	case !path.IsAbs(name):
		return addr.File(path.Join("/", s.Get("cwd"), name))
	}
	return addr.File(path.Clean(name))
}

func done(d bool) image.Image { return image.Of(&image.Exec{Known: true, Done: d}) }

// guard reports whether a guard succeeds.
func guard(ctx context.Context, e verb.Env, s step.Step, key, words string) (bool, error) {
	argv, err := step.SplitWords(words)
	if err != nil {
		return false, err
	}
	if u := s.Get("user"); u != "" && e.Names != nil {
		if _, err := e.Names.UID(u); err != nil {
			return false, fmt.Errorf("cannot run the %s command %q: %w", key, words, err)
		}
	}
	res, err := ask(ctx, e, s, argv)
	var not *verb.NotAskedError
	switch {
	case errors.As(err, &not):
		return false, err
	case errors.Is(err, fs.ErrNotExist):
		return false, verb.NotYetf(program(s, argv[0]), "cannot decide whether to run the command, because its %s command %q cannot start: %w; correct it, or put the step that installs it before this one", key, words, err)
	case err != nil:
		return false, fmt.Errorf("cannot run the %s command %q: %w", key, words, err)
	case res.TimedOut:
		return false, fmt.Errorf("the %s command %q did not end within its time limit and was killed, so its result is unknown", key, words)
	case res.Signal != "" || res.ExitCode < 0:
		return false, fmt.Errorf("the %s command %q was ended by a signal (%s), so its result is unknown",
			key, words, cmp.Or(res.Signal, "unknown"))
	}
	return res.ExitCode == 0, nil
}

// ask runs a guard through e.Guard, or by default on the host.
func ask(ctx context.Context, e verb.Env, s step.Step, argv []string) (host.CommandResult, error) {
	c := command(s, argv, false)
	if e.Guard == nil {
		return e.Host.Run(ctx, c)
	}
	return e.Guard(ctx, c, s.Get("guard_network") == "true")
}

func command(s step.Step, argv []string, mutates bool) host.Command {
	d, _ := time.ParseDuration(s.Get("timeout"))
	return host.Command{Argv: argv, Dir: s.Get("cwd"), Env: s.All("env"), User: s.Get("user"), Timeout: d, Mutates: mutates}
}

// Target implements verb.Verb.
func (Exec) Target(step.Step, image.Image, verb.Names) (image.Image, error) { return done(true), nil }

// Move implements verb.Mover: the command, or its undo.
func (Exec) Move(ctx context.Context, e verb.Env, s step.Step, _, to image.Image) error {
	argv := s.Args[1:]
	if !to.Exec().Done {
		var err error
		if argv, err = step.SplitWords(s.Get("undo")); err != nil || len(argv) == 0 {
			return err
		}
	}
	if s.Get("output") != step.OutputStdout || !to.Exec().Done {
		return Run(ctx, e.Host, command(s, argv, true))
	}
	res, err := run(ctx, e.Host, command(s, argv, true))
	if err != nil {
		return err
	}
	text, err := Output(res.Stdout)
	if err != nil {
		return fmt.Errorf("%s ran, but later steps cannot use its output: %w", step.JoinWords(argv), err)
	}
	if e.Output != nil {
		e.Output(text)
	}
	return nil
}

// MaxOutput is the maximum number of bytes that a command can pass to later steps.
const MaxOutput = 64 << 10

// Output returns the text of b for later steps: without trailing line ends, like a shell's $(…).
// A text that is too long or not UTF-8 is an error.
func Output(b []byte) (string, error) {
	text := strings.TrimRight(string(b), "\r\n")
	switch {
	case len(text) > MaxOutput:
		return "", fmt.Errorf("it has %d bytes, and the limit is %d", len(text), MaxOutput)
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return "", errors.New("it is not UTF-8 text")
	}
	return text, nil
}

// Run runs a command that must succeed. The error ends with the last lines of its output.
func Run(ctx context.Context, h host.Host, c host.Command) error {
	_, err := run(ctx, h, c)
	return err
}

func run(ctx context.Context, h host.Host, c host.Command) (host.CommandResult, error) {
	res, err := h.Run(ctx, c)
	name := step.JoinWords(c.Argv)
	switch {
	case err != nil:
		err = fmt.Errorf("cannot run %s: %w", name, err)
	case res.TimedOut:
		err = fmt.Errorf("%s did not end within its time limit and was killed with its child processes%s", name, tail(res))
	case res.ExitCode != 0:
		err = fmt.Errorf("%s ended with exit code %d%s", name, res.ExitCode, tail(res))
	}
	return res, err
}

// lines is how much of a failed command's output an error shows.
const lines = 10

func tail(res host.CommandResult) string {
	out := strings.TrimSpace(string(res.Stderr))
	if out == "" {
		out = strings.TrimSpace(string(res.Stdout))
	}
	if out == "" {
		return ""
	}
	all := strings.Split(out, "\n")
	if len(all) > lines {
		all = all[len(all)-lines:]
	}
	return ":\n" + strings.Join(all, "\n")
}

// Irreversible implements verb.Reversible.
func (Exec) Irreversible(s step.Step, _, _ image.Image) string {
	if s.Get("undo") != "" {
		return ""
	}
	return "the command has no undo, so its effects stay"
}
