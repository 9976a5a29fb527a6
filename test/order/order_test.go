package order

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/local"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/repo"
)

var update = flag.Bool("update", false, "rewrite the traces; review the difference like code")

// machine runs "did NAME", and notes the names.
type machine struct {
	t     *testing.T
	x     *local.Executor
	trace []string
	fails map[string]bool
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{t: t, fails: map[string]bool{}}
	h := mem.New(mem.Options{Run: m.run})
	for _, d := range []string{"/etc", "/srv"} {
		if err := h.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	x, err := local.New(h, mem.New(mem.Options{}), local.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	m.x = x
	return m
}

func (m *machine) run(_ context.Context, _ *mem.Host, c host.Command) (host.CommandResult, error) {
	switch c.Argv[0] {
	case "true":
		return host.CommandResult{}, nil
	case "false":
		return host.CommandResult{ExitCode: 1}, nil
	}
	name := strings.Join(c.Argv[1:], " ")
	if m.fails[name] {
		m.trace = append(m.trace, name+" fails")
		return host.CommandResult{ExitCode: 1}, nil
	}
	m.trace = append(m.trace, name)
	return host.CommandResult{Stdout: []byte(name + "\n")}, nil
}

// apply gives the trace of one apply, and how it ended.
func (m *machine) apply(tree repo.Tree) string {
	m.t.Helper()
	m.trace = nil
	res, ds := compile.Compile(compile.Input{Tree: tree})
	if ds.HasErrors() {
		return fmt.Sprintln(ds)
	}
	rep, err := m.x.Apply(context.Background(), executor.Request{List: res.List, Blobs: res.Blobs, Repair: true,
		Revision: repo.Revision{Digest: res.List.Digest()}}, nil, executor.Options{}, nil)
	if rep == nil {
		m.t.Fatal(err)
	}
	out := ""
	for _, line := range m.trace {
		out += line + "\n"
	}
	return out + fmt.Sprintf("(%s, %d not reached)\n", rep.Outcome, len(rep.Remaining))
}

func TestOrder(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no stories", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { story(t, file) })
	}
}

func story(t *testing.T, file string) {
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	m, texts, want := newMachine(t), map[string]string{}, map[string]string{}
	out := &txtar.Archive{Comment: a.Comment}
	for _, f := range a.Files {
		switch f.Name {
		case "trace", "again":
			want[f.Name] = string(f.Data)
			continue
		case "fails":
			for _, name := range strings.Split(strings.TrimSpace(string(f.Data)), "\n") {
				m.fails[name] = true
			}
		default:
			texts[f.Name] = string(f.Data)
		}
		out.Files = append(out.Files, f)
	}
	tree := repo.MapTree(texts)
	for _, name := range []string{"trace", "again"} {
		got := m.apply(tree)
		clear(m.fails)
		if *update {
			out.Files = append(out.Files, txtar.File{Name: name, Data: []byte(got)})
		} else if got != want[name] {
			t.Errorf("%s is\n%s\nwant\n%s", name, got, want[name])
		}
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(out), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNotifyAndListenAreOne: the same edge from either side gives the same trace.
func TestNotifyAndListenAreOne(t *testing.T) {
	told := `
exec "a" { command = "did a" }
exec "b" {
  command = "did b"
  after   = [exec.a]
  NOTIFY
}
exec "lazy" {
  command = "did lazy"
  lazy    = true
  LISTEN
}
`
	var traces []string
	for _, side := range [][2]string{{"notify = [exec.lazy]", ""}, {"", "listen = [exec.b]"},
		{"notify = [immediate(exec.lazy)]", ""}} {
		text := strings.NewReplacer("NOTIFY", side[0], "LISTEN", side[1]).Replace(told)
		traces = append(traces, newMachine(t).apply(repo.MapTree(map[string]string{"fettle.hcl": text})))
	}
	if traces[0] != traces[1] || traces[0] != traces[2] || !strings.HasPrefix(traces[0], "a\nb\nlazy\n") {
		t.Errorf("%q", traces)
	}
}

// TestPendingWithoutItsEdge: an action that is due does not run any more when the
// repository no longer has what notified it, and is not due for ever after either.
func TestPendingWithoutItsEdge(t *testing.T) {
	const lazy = "exec \"b\" {\n  command = \"did b\"\n  lazy    = true\n}\n"
	a := func(notify string) string { return "exec \"a\" {\n  command = \"did a\"\n" + notify + "}\n" }
	for name, next := range map[string]string{
		"the notification is gone": a("") + lazy,
		"the action is gone":       a(""),
		"another one notifies it now": a(
			"") + "exec \"c\" {\n  command = \"true\"\n  unless  = \"true\"\n  notify  = [exec.b]\n}\n" + lazy,
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.fails["b"] = true
			m.apply(repo.MapTree(map[string]string{"fettle.hcl": a("  notify  = [exec.b]\n") + lazy}))
			clear(m.fails)
			if got := m.apply(repo.MapTree(map[string]string{"fettle.hcl": next})); got != "(succeeded, 0 not reached)\n" {
				t.Errorf("it does\n%s", got)
			}
			st, err := m.x.Status(context.Background())
			if err != nil || len(st.State.Pending) > 0 {
				t.Errorf("still pending: %v %v", st.State.Pending, err)
			}
		})
	}
}
