package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// site is the repository that the hub follows.
type site struct {
	dir     string
	modules int
}

// changing is the module that commits change.
const changing = "modules/m000"

// newSite makes one with modules that all targets have.
func newSite(dir string, modules int) (site, error) {
	s := site{dir, modules}
	var names []string
	for i := range modules {
		name := fmt.Sprintf("m%03d", i)
		names = append(names, fmt.Sprintf("%q", name))
		if err := s.module(i, "first"); err != nil {
			return s, err
		}
	}
	top := fmt.Sprintf("policy { rollout = \"at-once\" }\ntarget_group \"all\" {\n  labels  = {}\n  modules = [%s]\n}\n",
		strings.Join(names, ", "))
	if err := os.WriteFile(filepath.Join(dir, "fettle.hcl"), []byte(top), 0o644); err != nil {
		return s, err
	}
	return s, s.git("init", "-q", "-b", "main", dir)
}

func (s site) module(i int, text string) error {
	dir := filepath.Join(s.dir, fmt.Sprintf("modules/m%03d", i))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	body := fmt.Sprintf("file \"/etc/bench/%03d.conf\" {\n  content = %q\n}\n%s", i, text,
		strings.Repeat("# a module has some lines, and this is one of them\n", 20))
	return os.WriteFile(filepath.Join(dir, "module.hcl"), []byte(body), 0o644)
}

// commit makes a commit of all there is, and gives its name.
func (s site) commit(text string) (string, error) {
	if err := s.module(0, text); err != nil {
		return "", err
	}
	for _, args := range [][]string{{"-C", s.dir, "add", "-A"}, {"-C", s.dir, "commit", "-q", "-m", text}} {
		if err := s.git(args...); err != nil {
			return "", err
		}
	}
	out, err := exec.Command("git", "-C", s.dir, "rev-parse", "HEAD").Output()
	return strings.TrimSpace(string(out)), err
}

func (s site) git(args ...string) error {
	c := exec.Command("git", append([]string{"-c", "user.name=bench", "-c", "user.email=bench@localhost"}, args...)...)
	c.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("git %s: %w\n%s", args[0], err, out)
	}
	return nil
}
