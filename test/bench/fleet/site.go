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

// The strategies that are measured. atOnce is the strategy of all other measurements. waves has the waves of careful,
// but an agent is ready as soon as it is in sync: the difference from atOnce is the cost of the decisions.
const (
	atOnce  = "at-once"
	waves   = "waves"
	careful = "careful"
)

// wavesBlock declares the strategy waves.
const wavesBlock = `rollout "waves" {
  wave "first" {
    size            = 1
    max_unavailable = 1
  }
  wave "early" { size = "10%" }
  wave "rest" {}
  min_ready_time = "0s"
}
`

// changing is the module that commits change.
const changing = "modules/m000"

// newSite makes one with modules that all targets have.
func newSite(dir string, modules int) (site, error) {
	s := site{dir, modules}
	for i := range modules {
		if err := s.module(i, "first"); err != nil {
			return s, err
		}
	}
	if err := s.top(atOnce); err != nil {
		return s, err
	}
	return s, s.git("init", "-q", "-b", "main", dir)
}

// top writes the top of the repository, with the strategy for all targets.
func (s site) top(strategy string) error {
	var names []string
	for i := range s.modules {
		names = append(names, fmt.Sprintf("\"m%03d\"", i))
	}
	text := fmt.Sprintf("%spolicy { rollout = %q }\ntarget_group \"all\" {\n  labels  = {}\n  modules = [%s]\n}\n",
		wavesBlock, strategy, strings.Join(names, ", "))
	return os.WriteFile(filepath.Join(s.dir, "fettle.hcl"), []byte(text), 0o644)
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
