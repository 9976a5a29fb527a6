package commands

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/ssh"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/ui/cli"
)

// everyCommand visits each command that does something, hidden ones too.
func everyCommand(t *testing.T, visit func(c *cobra.Command, words []string)) {
	t.Helper()
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if words := strings.Fields(c.CommandPath())[1:]; len(words) > 0 && !c.HasSubCommands() || c.Name() == "policy" {
			visit(c, words)
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk((&cli.App{Now: time.Now, Commands: All(nil)}).Root())
}

// TestFlagsOfCommands: the table has only commands and flags that exist, and all commands that do not ask a hub.
func TestFlagsOfCommands(t *testing.T) {
	table, flags := cli.FlagsOf(), (&cli.App{Now: time.Now, Commands: All(nil)}).Root().PersistentFlags()
	everyCommand(t, func(c *cobra.Command, words []string) {
		name := strings.Join(words, " ")
		if _, ok := table[name]; !ok && !cli.AsksHub(c) {
			t.Errorf("flagsOf does not say which global flags %q uses", name)
		}
		for _, f := range table[name] {
			if flags.Lookup(f) == nil {
				t.Errorf("%s uses --%s, which is no global flag", name, f)
			}
		}
		delete(table, name)
	})
	for name := range table {
		t.Errorf("flagsOf has %q, which is no command", name)
	}
}

// lonely is a command line whose engine must not be opened, and whose SSH reaches nobody.
type lonely struct {
	t              *testing.T
	dir            string
	opened         []string // what was done to this machine
	stdout, stderr bytes.Buffer
}

func newLonely(t *testing.T) *lonely {
	l := &lonely{t: t, dir: t.TempDir()}
	for name, text := range map[string]string{"fettle.hcl": "x", "a.steps": "MKDIR /srv/x\n", "local": "x"} {
		if err := os.WriteFile(filepath.Join(l.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := repo.Init(t.Context(), l.dir, []string{"fettle.hcl"}, "x"); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *lonely) app() *cli.App {
	names := []string{"web1", "web2", "db1"}
	touched := func(what string) { l.opened = append(l.opened, what) }
	return &cli.App{
		OpenExecutor: func(context.Context, cli.Machine) (executor.Executor, func() error, error) {
			touched("engine")
			return nil, nil, errors.New("the engine of this machine was opened")
		},
		Facts:    func(context.Context, cli.Machine) (map[string]cty.Value, error) { return nil, nil },
		Language: cli.Language{Queries: fixedTargets(names)},
		Stdin:    strings.NewReader(""), Stdout: &l.stdout, Stderr: &l.stderr,
		Now: time.Now, Hostname: func() (string, error) { return "desk", nil },
		Env:       func(name string) string { return map[string]string{"HOME": l.dir}[name] },
		Version:   "test",
		HubSocket: filepath.Join(l.dir, "hub.sock"),
		SSH: cli.SSH{Connect: func(_ context.Context, a ssh.Address, _ ssh.Options, _ bool) (cli.Remote, error) {
			return nil, &ssh.Error{Address: a, Class: ssh.Unreachable, Text: "no answer from " + a.Host}
		},
			Forget: func(_ context.Context, a ssh.Address, _ ssh.Options) error {
				return &ssh.Error{Address: a, Class: ssh.Unreachable, Text: "no answer from " + a.Host}
			}},
		Agent:    cli.Agent{Ready: func(context.Context) func() { touched("service"); return func() {} }},
		Commands: All(nil),
	}
}

// run runs a command with the arguments that it needs and more, and gives the exit code
// and what was said.
func (l *lonely) run(c *cobra.Command, words []string, more ...string) (int, string) {
	given, known := map[string][]string{
		"run": {"--", "true"}, "copy": {filepath.Join(l.dir, "local"), "/etc/x"}, "explain": {"/etc/x"},
		"job run": {"--", "true"},
		"reboot":  {"--yes"}, "steps plan": {filepath.Join(l.dir, "a.steps")},
		"steps apply":  {filepath.Join(l.dir, "a.steps")},
		"target label": {"a=b"}, "request policy set": {"freeze", "allow"}, "request policy delete": {"certificate"},
		"notify set": {"x"},
	}[strings.Join(words, " ")]
	for !known && c.Args != nil && c.Args(c, given) != nil && len(given) < 4 {
		given = append(given, "x")
	}
	l.stdout.Reset()
	l.stderr.Reset()
	l.opened = nil
	line := slices.Concat(words, more, given)
	code := l.app().Main(context.Background(), line)
	return code, l.stdout.String() + l.stderr.String()
}

// untouched fails if something was done to this machine, below --root or otherwise.
func (l *lonely) untouched(words []string) {
	l.t.Helper()
	if len(l.opened) > 0 {
		l.t.Errorf("fettle %s: touched this machine: %v", strings.Join(words, " "), l.opened)
	}
	if cli.FileExists(filepath.Join(l.dir, "root")) {
		l.t.Errorf("fettle %s: left something below --root", strings.Join(words, " "))
	}
}

// TestUnusedFlagsAreRefused: a global flag that a command does not use is a mistake.
func TestUnusedFlagsAreRefused(t *testing.T) {
	l := newLonely(t)
	everyCommand(t, func(c *cobra.Command, words []string) {
		used := cli.UsedBy(c)
		c.Root().PersistentFlags().VisitAll(func(f *pflag.Flag) {
			if slices.Contains(used, f.Name) {
				return
			}
			value := map[string]string{"bool": "true", "duration": "1s", "int": "5000", "size": "512MiB"}[f.Value.Type()]
			switch f.Name {
			case "via":
				value = cli.ViaSSH
			case "on-disconnect":
				value = "stop"
			case "var":
				value = "a=b"
			}
			if value == "" {
				value = "x"
			}
			code, said := l.run(c, words, "--"+f.Name+"="+value)
			if code != cli.ExitUsage || !strings.Contains(said, "cannot use --"+f.Name) ||
				!strings.Contains(said, "it has no effect there") {
				t.Errorf("fettle %s --%s: %d, and not that it has no effect:\n%s", strings.Join(words, " "), f.Name, code, said)
			}
			l.untouched(words)
		})
	})
}

// onHub are the commands whose targets a hub selects, which refuses an unknown name itself.
func onHub(used []string) bool { return !slices.Contains(used, "root") }

// TestUnknownTargets: no command takes this machine, or any other, for a target of a name
// that nothing knows.
func TestUnknownTargets(t *testing.T) {
	l := newLonely(t)
	tried := 0
	everyCommand(t, func(c *cobra.Command, words []string) {
		used := cli.UsedBy(c)
		if !slices.Contains(used, "target") {
			return
		}
		tried++
		for _, more := range [][]string{{}, {"--root", filepath.Join(l.dir, "root")}, {"--ssh", "host"}} {
			if onHub(used) && len(more) > 0 || len(more) > 0 && !slices.Contains(used, strings.TrimPrefix(more[0], "--")) {
				continue
			}
			if slices.Contains(used, "chdir") {
				more = append(more, "-C", l.dir)
			}
			code, said := l.run(c, words, append(more, "-t", "wbe1")...)
			viaHub := onHub(used) || c.CommandPath() == "fettle target enrol" || c.CommandPath() == "fettle job run"
			if want := `Did you mean "web1"?`; code != cli.ExitError || !viaHub &&
				(!strings.Contains(said, `"wbe1"`) || !strings.Contains(said, want)) {
				t.Errorf("fettle %s %s -t wbe1: %d, and not %s:\n%s", strings.Join(words, " "), strings.Join(more, " "), code,
					want, said)
			}
			l.untouched(words)
		}
	})
	if tried < 30 {
		t.Errorf("tried only %d commands", tried)
	}
}

// TestTargetsToWhichNothingLeads: one of several targets that is not this host's name is
// not this machine either.
func TestTargetsToWhichNothingLeads(t *testing.T) {
	l := newLonely(t)
	everyCommand(t, func(c *cobra.Command, words []string) {
		if used := cli.UsedBy(c); !slices.Contains(used, "ssh") || c.CommandPath() == "fettle target delete-binary" {
			return
		}
		code, said := l.run(c, words, "-C", l.dir, "-t", "web2")
		if code != cli.ExitError || !strings.Contains(said, "cannot reach web2: the repository does not declare how") {
			t.Errorf("fettle %s -t web2: %d, and not that nothing leads there:\n%s", strings.Join(words, " "), code, said)
		}
		l.untouched(words)
	})
}

// TestUnreachableHosts: a host that cannot be reached is never replaced by this machine.
func TestUnreachableHosts(t *testing.T) {
	l := newLonely(t)
	tried := 0
	everyCommand(t, func(c *cobra.Command, words []string) {
		if !slices.Contains(cli.UsedBy(c), "ssh") {
			return
		}
		tried++
		for _, more := range [][]string{{}, {"-t", "web1"}} {
			if words[0] == "plan" || words[0] == "apply" {
				more = append(more, "-t", "web1")[:2]
			}
			code, said := l.run(c, words, append(more, "-C", l.dir, "--ssh", "nohost")...)
			if code != cli.ExitError || !strings.Contains(said, "no answer from nohost") {
				t.Errorf("fettle %s --ssh nohost: %d, and not the error of the connection:\n%s", strings.Join(words, " "), code,
					said)
			}
			l.untouched(words)
		}
	})
	if tried < 18 {
		t.Errorf("tried only %d commands", tried)
	}
}

// fixedTargets answers with the names of targets and empty lists.
type fixedTargets []string

func (names fixedTargets) Answer(q compile.Question) (any, diag.List) {
	switch x := q.Query.(type) {
	case compile.ListQuery:
		return compile.Result{Target: x.Target}, nil
	case compile.TargetsQuery:
		var out []query.Target
		for _, n := range names {
			out = append(out, query.Target{Name: n})
		}
		return out, nil
	}
	return nil, nil
}
