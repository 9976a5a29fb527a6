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
	changes []string // names of the modules that a commit changes
	groups  string   // blocks that declare groups of targets
}

// The strategies that are measured. atOnce is the strategy of all other measurements. waves has the waves of careful,
// but an agent is ready as soon as it is in sync: the difference from atOnce is the cost of the decisions.
const (
	atOnce  = "at-once"
	waves   = "waves"
	careful = "careful"
)

// wavesBlock declares a strategy like waves.
func wavesBlock(name string) string {
	return fmt.Sprintf(`rollout %q {
  wave "first" {
    size            = 1
    max_unavailable = 1
  }
  wave "early" { size = "10%%" }
  wave "rest" {}
  min_ready_time = "0s"
}
`, name)
}

// newSite makes one with modules that all targets have.
func newSite(dir string, modules int) (site, error) {
	s := site{dir, modules, []string{"m000"}, ""}
	for i := range modules {
		if err := s.module(fmt.Sprintf("m%03d", i), "first"); err != nil {
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
		wavesBlock(waves)+s.groups, strategy, strings.Join(names, ", "))
	return os.WriteFile(filepath.Join(s.dir, "fettle.hcl"), []byte(text), 0o644)
}

// form declares groups of targets, each with a module and a strategy of its own. Commits change these modules. Groups
// with the strategy waves have copies of it, so that each group has its own rollout.
func (s *site) form(count int, strategy string) {
	s.changes, s.groups = nil, ""
	for g := range count {
		module, name := fmt.Sprintf("g%02d", g), strategy
		if strategy == waves {
			name = waves + "-" + module
			s.groups += wavesBlock(name)
		}
		var targets []string
		for last := g; last < 100; last += count {
			targets = append(targets, fmt.Sprintf("\"web*%02d\"", last))
		}
		s.groups += fmt.Sprintf("target_group %q {\n  targets = [%s]\n  modules = [%q]\n  policy { rollout = %q }\n}\n",
			module, strings.Join(targets, ", "), module, name)
		s.changes = append(s.changes, module)
	}
}

func (s site) module(name, text string) error {
	dir := filepath.Join(s.dir, "modules", name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	body := fmt.Sprintf("file \"/etc/bench/%s.conf\" {\n  content = %q\n}\n%s", name, text,
		strings.Repeat("# a module has some lines, and this is one of them\n", 20))
	return os.WriteFile(filepath.Join(dir, "module.hcl"), []byte(body), 0o644)
}

// commit makes a commit of all there is, and gives its name.
func (s site) commit(text string) (string, error) {
	for _, name := range s.changes {
		if err := s.module(name, text); err != nil {
			return "", err
		}
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
