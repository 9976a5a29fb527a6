package repo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// ErrNoGit: git is not installed.
var ErrNoGit = errors.New("git is not installed")

// Init makes the directory dir a git repository with the branch main, and commits these files,
// paths relative to dir. The author is the user in git's configuration, or login@host if there is
// none. If dir is already inside a repository, Init changes nothing and returns a zero Revision.
// Without git, the error is ErrNoGit and the directory is unchanged.
func Init(ctx context.Context, dir string, files []string, message string) (Revision, error) {
	abs, err := realDirectory(dir)
	if err != nil {
		return Revision{}, err
	}
	if gitDir, _, err := findRepository(abs); err != nil || gitDir != "" {
		return Revision{}, err
	}
	exe, err := exec.LookPath("git")
	if err != nil {
		return Revision{}, ErrNoGit
	}
	g := git{exe: exe, gitDir: filepath.Join(abs, ".git"), workTree: abs}
	name, mail := identity(ctx, exe)
	for _, args := range [][]string{
		{"init", "--quiet", "--template=", "--initial-branch=main"},
		append([]string{"add", "--force", "--"}, files...),
		{"-c", "user.name=" + name, "-c", "user.email=" + mail, "-c", "commit.gpgSign=false", "commit", "--quiet",
			"--message=" + message},
	} {
		if _, err := g.output(ctx, args...); err != nil {
			return Revision{}, fmt.Errorf("cannot make %q a git repository: %w", abs, err)
		}
	}
	r, err := Open(ctx, abs)
	if err != nil {
		return Revision{}, err
	}
	defer r.Close()
	return r.Resolve(ctx, "HEAD")
}

// identity returns the user's name and address in git's configuration. The user's own configuration
// is trusted here. Only two values are read, and nothing in them is run.
func identity(ctx context.Context, exe string) (name, mail string) {
	ask := func(key string) string {
		out, err := exec.CommandContext(ctx, exe, "config", "--global", "--get", key).Output()
		if err != nil {
			return ""
		}
		return plainText(string(out))
	}
	login := os.Getenv("USER")
	if login == "" {
		login = "root"
	}
	if name = ask("user.name"); name == "" {
		name = login
	}
	if mail = ask("user.email"); mail == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "localhost"
		}
		mail = strings.ReplaceAll(login+"@"+host, " ", "")
	}
	return name, mail
}
