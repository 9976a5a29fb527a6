package repo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// Remote is a remote repository, accessed with the user's own git: with its configuration and keys,
// or only with Access. It is only a source of commits.
type Remote struct {
	exe, source string
	access      *Access // nil is the user's own
}

// OpenRemote checks the source of a fetch: a URL that git accepts, HOST:PATH, or a path. It does
// not contact the source.
func OpenRemote(source string) (Remote, error) {
	if err := checkSource(source); err != nil {
		return Remote{}, err
	}
	exe, err := exec.LookPath("git")
	if err != nil {
		return Remote{}, ErrNoGit
	}
	return Remote{exe: exe, source: source}, nil
}

// checkSource refuses sources that git would read as an option or run, and passwords, which would
// be recorded.
func checkSource(source string) error {
	scheme, rest, isURL := strings.Cut(source, "://")
	user, _, hasUser := strings.Cut(rest, "@")
	switch {
	case source == "" || strings.HasPrefix(source, "-") || plainText(source) != source || strings.Contains(source, "::"):
		return fmt.Errorf("cannot fetch from %q: give a URL, HOST:PATH or a path", shorten(plainText(source)))
	case isURL && scheme != "https" && scheme != "http" && scheme != "ssh" && scheme != "file":
		return fmt.Errorf("cannot fetch from %q: the scheme is https, http, ssh or file", shorten(source))
	case isURL && hasUser && strings.Contains(user, ":") && !strings.Contains(user, "/"):
		return errors.New(
			"cannot fetch from a URL with a password in it: the password would be recorded; store it in git's credential helper")
	}
	return nil
}

// Tags are the names of its tags.
func (r Remote) Tags(ctx context.Context) ([]string, error) {
	out, err := r.run(ctx, "ls-remote", "--tags", "--refs", "--", r.source)
	if err != nil {
		return nil, fmt.Errorf("cannot list the versions of %q: %w", r.source, err)
	}
	var tags []string
	for line := range strings.Lines(out) {
		if _, ref, ok := strings.Cut(strings.TrimSpace(line), "\trefs/tags/"); ok {
			tags = append(tags, ref)
		}
	}
	return tags, nil
}

// HasRef reports whether it has a branch or a tag of this name.
func (r Remote) HasRef(ctx context.Context, name string) (bool, error) {
	if err := checkRev(name); err != nil {
		return false, err
	}
	out, err := r.run(ctx, "ls-remote", "--refs", "--", r.source, "refs/heads/"+name, "refs/tags/"+name)
	if err != nil {
		return false, fmt.Errorf("cannot list the branches of %q: %w", r.source, err)
	}
	return out != "", nil
}

// Branches returns the names of its branches that begin with a prefix, sorted. Other refs, such as the proposals that
// forges keep below refs/pull, are not branches. Names that no branch can have are left out.
func (r Remote) Branches(ctx context.Context, prefix string) ([]string, error) {
	out, err := r.run(ctx, "ls-remote", "--refs", "--", r.source, "refs/heads/"+prefix+"*")
	if err != nil {
		return nil, fmt.Errorf("cannot list the branches of %q: %w", r.source, err)
	}
	var all []string
	for line := range strings.Lines(out) {
		_, ref, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		name, isBranch := strings.CutPrefix(ref, "refs/heads/") // git also finds refs that end like the pattern
		if isBranch && strings.HasPrefix(name, prefix) && checkRev(name) == nil {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all, nil
}

// Fetch makes dir, which must not exist, a bare repository with one commit: the tag, branch or
// commit that rev names, "" for the HEAD of the remote. It returns the hash of the commit.
func (r Remote) Fetch(ctx context.Context, rev, dir string) (commit string, err error) {
	if rev == "" {
		rev = "HEAD"
	}
	if err := checkRev(rev); err != nil {
		return "", err
	}
	if _, err := r.run(ctx, "init", "--quiet", "--bare", "--template=", dir); err != nil {
		return "", fmt.Errorf("cannot fetch: %w", err)
	}
	_, err = r.run(ctx, "--git-dir", dir, "fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--",
		r.source, rev)
	if err != nil {
		return "", fmt.Errorf("cannot fetch %s of %q: %w", rev, r.source, err)
	}
	out, err := r.run(ctx, "--git-dir", dir, "rev-parse", "--verify", "FETCH_HEAD^{commit}")
	return strings.TrimSpace(out), err
}

// run runs git with the user's configuration, except settings that would run programs chosen by the
// remote.
func (r Remote) run(ctx context.Context, args ...string) (string, error) {
	argv := []string{"--no-pager", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c",
		"fetch.recurseSubmodules=false", "-c", "gc.auto=0",
		"-c", "maintenance.auto=false", "-c", "transfer.fsckObjects=true", "-c", "fetch.unpackLimit=1", "-c",
		"protocol.ext.allow=never"}
	argv = append(argv, r.access.settings()...)
	args, err := r.trusting(args)
	if err == nil {
		err = r.access.readable()
	}
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, r.exe, append(argv, args...)...)
	cmd.Env = append(r.access.environ(os.Environ()), "LC_ALL=C", "GIT_TERMINAL_PROMPT=0",
		"GIT_ALLOW_PROTOCOL=https:http:ssh:file")
	cmd.WaitDelay = 2 * time.Second
	var stderr head
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	return string(out), gitFailure(args[0], saidByOther(stderr.String()), err)
}

// saidByOther removes git's message that it could not read, if ssh or the remote gave the reason.
func saidByOther(stderr string) string {
	before, _, found := strings.Cut(stderr, "fatal: Could not read from remote repository.")
	if !found || strings.TrimSpace(before) == "" {
		return stderr
	}
	lines := strings.Split(strings.TrimSpace(before), "\n")
	return lines[len(lines)-1]
}
