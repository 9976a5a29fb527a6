package repo

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"time"
)

// safeDirectories returns the values of safe.directory in the configuration of the system, of the
// user and of git's environment variables, in git's order. git reads them outside of any
// repository, so that the repository in question has no influence.
func safeDirectories(exe string) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, exe, "--no-pager", "config", "--includes", "-z", "--get-all", "safe.directory")
	cmd.Dir = "/"
	cmd.Env = configEnv(os.Environ())
	cmd.WaitDelay = 2 * time.Second
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if exit.ExitCode() == 1 && len(exit.Stderr) == 0 {
			return nil, nil // no value
		}
		return nil, gitFailure("config", string(exit.Stderr), err)
	}
	if err != nil || len(out) == 0 {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), nil
}

// configEnv keeps the variables that say where git's configuration is. GIT_DIR names no repository,
// so git finds none.
func configEnv(from []string) []string {
	env := []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "GIT_DIR=/dev/null", "GIT_TERMINAL_PROMPT=0",
		"HOME=" + homeDir()}
	for _, e := range from {
		if strings.HasPrefix(e, "XDG_CONFIG_HOME=") || strings.HasPrefix(e, "GIT_CONFIG_") {
			env = append(env, e)
		}
	}
	return env
}
