package hubs

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// site is a git repository with a work tree.
type site struct {
	dir string
	now func() time.Time
}

// create creates the repository, with an empty configuration.
func (s site) create() error {
	if _, err := s.git("init", "-q", "-b", "main", s.dir); err != nil {
		return err
	}
	_, err := s.commit("Begin", map[string]string{"fettle.hcl": "\n"})
	return err
}

// git runs git with a constant author and the time of the hub, so that the same files have the same
// commits.
func (s site) git(args ...string) (string, error) {
	c := exec.Command("git", args...)
	at := s.now().Format(time.RFC3339)
	c.Env = append(os.Environ(), "GIT_AUTHOR_NAME=Jane", "GIT_AUTHOR_EMAIL=jane@example.org", "GIT_AUTHOR_DATE="+at,
		"GIT_COMMITTER_NAME=Jane", "GIT_COMMITTER_EMAIL=jane@example.org", "GIT_COMMITTER_DATE="+at,
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := c.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %v: %w\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out)), nil
}

// commit writes files and commits them.
func (s site) commit(subject string, files map[string]string) (string, error) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		file := filepath.Join(s.dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return "", err
		}
		if err := os.WriteFile(file, []byte(files[name]), 0o644); err != nil {
			return "", err
		}
	}
	if _, err := s.git("-C", s.dir, "add", "-A"); err != nil {
		return "", err
	}
	if _, err := s.git("-C", s.dir, "commit", "-q", "-m", subject); err != nil {
		return "", err
	}
	return s.git("-C", s.dir, "rev-parse", "HEAD")
}
