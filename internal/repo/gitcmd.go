package repo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// git runs git on one repository. It runs nothing that the repository or its configuration names:
// no hooks, monitors, filters, helpers, pagers or transports. It uses no configuration of the
// system or the user, no prompt and no network. The directory is explicit, so git neither searches
// for it nor checks its owner; findRepository and checkOwner do.
type git struct {
	exe      string // path of the git program
	gitDir   string
	workTree string        // "" for bare repositories
	silence  time.Duration // 0 is the default
}

// hardened settings override settings of the repository.
var hardened = [...]string{
	"core.hooksPath=/dev/null",
	"core.fsmonitor=false",
	"core.untrackedCache=false",
	"core.attributesFile=/dev/null",
	"core.excludesFile=/dev/null",
	"core.pager=cat",
	"core.sshCommand=false",
	"core.gitProxy=false",
	"core.askPass=false",
	"core.editor=false",
	"core.alternateRefsCommand=false",
	"core.warnAmbiguousRefs=true",
	"core.quotePath=false",
	"protocol.allow=never",
	"credential.helper=",
	"diff.external=",
	"log.showSignature=false",
	"submodule.recurse=false",
	"gc.auto=0",
	"maintenance.auto=false",
}

func (g git) env() []string {
	env := []string{
		"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "HOME=/nonexistent", "XDG_CONFIG_HOME=/nonexistent",
		"GIT_DIR=" + g.gitDir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1",
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_GRAFT_FILE=/dev/null", "GIT_ALLOW_PROTOCOL=none", "GIT_LITERAL_PATHSPECS=1",
	}
	if g.workTree != "" {
		env = append(env, "GIT_WORK_TREE="+g.workTree)
	}
	return env
}

// command prepares git with these arguments. External arguments are validated or follow "--".
func (g git) command(ctx context.Context, args ...string) *exec.Cmd {
	argv := []string{"--no-pager"}
	for _, s := range hardened {
		argv = append(argv, "-c", s)
	}
	cmd := exec.CommandContext(ctx, g.exe, append(argv, args...)...)
	cmd.Env = g.env()
	cmd.Dir = g.gitDir
	if g.workTree != "" {
		cmd.Dir = g.workTree
	}
	cmd.WaitDelay = 2 * time.Second
	return cmd
}

// output returns the output of git, up to 16 MiB.
func (g git) output(ctx context.Context, args ...string) (string, error) {
	var out strings.Builder
	err := g.stream(ctx, func(r io.Reader) error {
		n, err := io.Copy(&out, io.LimitReader(r, 16<<20))
		if err == nil && n == 16<<20 {
			err = errors.New("git printed more than 16 MiB")
		}
		return err
	}, args...)
	return out.String(), err
}

// stream passes the output of git to fn while git runs. An error of fn ends git at once and is
// returned unchanged.
func (g git) stream(ctx context.Context, fn func(io.Reader) error, args ...string) error {
	_, err := g.run(ctx, fn, args...)
	return err
}

// run is like stream, but also returns the beginning of git's error output.
func (g git) run(ctx context.Context, fn func(io.Reader) error, args ...string) (said string, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cmd := g.command(ctx, args...)
	var stderr head
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", fmt.Errorf("cannot run git: %w", err)
	}
	if err := fn(watched{out, g.silence, cancel}); err != nil {
		cancel(err)
		_ = cmd.Wait()
		return stderr.String(), context.Cause(ctx)
	}
	err = cmd.Wait()
	if ctx.Err() != nil {
		return stderr.String(), context.Cause(ctx)
	}
	return stderr.String(), gitFailure(args[0], stderr.String(), err)
}

// gitError is git's own refusal, condensed.
type gitError struct {
	command, message string
}

func (e *gitError) Error() string { return fmt.Sprintf("git %s: %s", e.command, e.message) }

func gitFailure(command, stderr string, err error) error {
	if err == nil {
		return nil
	}
	if msg := condense(stderr); msg != "" {
		return &gitError{command, msg}
	}
	return &gitError{command, err.Error()}
}

// condense returns one short line of git's error output: the first line about a failure, without
// git's prefix and without control characters.
func condense(stderr string) string {
	first, begun := "", ""
	for line := range strings.Lines(stderr) {
		line = plainText(line)
		if begun != "" { // the name follows "unknown repository extension found:" on the next line
			return shorten(begun + " " + line)
		}
		for _, prefix := range []string{"fatal: ", "error: "} {
			rest, ok := strings.CutPrefix(line, prefix)
			if ok && !strings.HasSuffix(rest, ":") {
				return shorten(rest)
			}
			if ok {
				begun, first = rest, rest
			}
		}
		if first == "" {
			first = line
		}
	}
	return shorten(first)
}

// head keeps the first 8 KiB that are written and swallows the rest.
type head struct{ buf bytes.Buffer }

func (h *head) Write(p []byte) (int, error) {
	if room := 8<<10 - h.buf.Len(); room > 0 {
		h.buf.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

func (h *head) String() string { return h.buf.String() }
