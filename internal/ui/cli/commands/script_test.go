package commands_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/executor/here"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/lang/eval"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/schema"
	langsource "fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/commands"
	hubcmd "fettle.dev/fettle/internal/ui/cli/hub"
	"fettle.dev/fettle/test/hubs"
)

// update rewrites golden files. Review the difference like code: these are the
// words that people read.
var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) {
	if hubs.IsCompiler() {
		os.Exit(hubs.Run(m))
	}
	testscript.Main(m, map[string]func(){"fettle": runFake})
}

// runFake is the command line on the scripted engine and a language in which
// the file fettle.hcl is the list itself: one step a line, and a first line
// "# targets: a b".
func runFake() {
	app := &cli.App{
		OpenExecutor: openFake(os.Getenv("FETTLE_FAKE")),
		Facts:        func(context.Context, cli.Machine) (map[string]cty.Value, error) { return nil, nil },
		Language:     toyLanguage(),
		Stdin:        os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Now:       func() time.Time { return fakeNow },
		Hostname:  func() (string, error) { return "web1.example.org", nil },
		Env:       os.Getenv,
		Version:   "test",
		SSH:       cli.SSH{Connect: connectFake},
		Commands:  commands.All(&hubcmd.Hub{Join: joinHub, Backup: saveFake}),
		HubSocket: filepath.Join(os.Getenv("HOME"), "hub.sock"), // that of the machine is nothing of a test's
	}
	if dir := os.Getenv("FETTLE_CACHE"); dir != "" {
		app.Beside, app.OwnCache = here.Beside, func() (string, error) { return here.OwnDirectory(dir) }
	}
	if os.Getenv("FETTLE_TTY") != "" {
		app.Terminal = cli.Terminal{In: true, Out: os.Getenv("FETTLE_TTY") == "color", Width: 80}
		if rows, err := strconv.Atoi(os.Getenv("FETTLE_ROWS")); err == nil {
			app.Terminal.Height, app.Terminal.Page = rows, fakePager
		}
	}
	os.Exit(app.Main(context.Background(), os.Args[1:]))
}

// fakePager prints the command of the pager before the text.
func fakePager(_ context.Context, argv []string, text string) error {
	if argv[0] == "missing" {
		return fmt.Errorf("cannot run it: %w", fs.ErrNotExist)
	}
	fmt.Printf("pager %q\n%s", argv, text)
	return nil
}

func toyLanguage() cli.Language {
	return cli.Language{
		Queries: toyAnswers{},
		Format: func(path string, src []byte) ([]byte, diag.List) {
			return []byte(strings.ReplaceAll(string(src), "\t", "  ")), nil
		},
		Kinds: toyKinds,
	}
}

// toyAnswers answers queries about a repository whose fettle.hcl is a list.
type toyAnswers struct{}

func (toyAnswers) Answer(q compile.Question) (any, diag.List) {
	switch x := q.Query.(type) {
	case compile.ListQuery:
		return toyCompile(x.Input)
	case compile.TargetsQuery:
		return toyInventory(q.Tree)
	case compile.StrategiesQuery:
		gated, later := quick("gated", "pause"), quick("later", "pause")
		gated.Waves[0].Gates = []langsource.Gate{{Name: "change board", Type: "approval", Need: 2, Users: []string{"ann"},
			NotAuthor: true}}
		reported := quick("reported", "pause")
		reported.Waves[0].Gates = []langsource.Gate{{Name: "tests", Type: "webhook"}}
		metric := quick("metric", "pause")
		metric.Waves[0].Gates = []langsource.Gate{{Name: "errors", Type: "metric", URL: "http://127.0.0.1:1", Query: "up",
			Token: "prometheus", Count: 1}}
		later.Afters = []query.StrategyAfter{{Module: "modules/db", Modules: []string{"modules/web"},
			Targets: []string{"far1", "far2"}, Ready: "100%"}}
		return []query.Strategy{quick("quick", "rollback"), quick("patient", "pause"), gated, later, reported, metric}, nil
	case compile.RunnableQuery:
		return compile.Open(q.Tree).Runnable()
	case compile.CommandQuery:
		return compile.Open(q.Tree).CallCommand(x.Name, x.Params)
	case compile.ActionQuery:
		return compile.Open(q.Tree).CallAction(x.Input, x.Name, x.Params, x.DryRun)
	case compile.SchemaQuery:
		kinds := toyKinds()
		if text, _ := q.Tree.ReadFile("fettle.hcl"); len(text) > 0 {
			kinds = append(kinds, kind.Kind{Name: "own"})
		}
		return schema.Document(x.Part, kinds), nil
	case compile.VariablesQuery:
		return toyVariables(x.Name)
	}
	return nil, nil
}

// quick is a strategy without times: one target, then all others.
func quick(name, onBreach string) query.Strategy {
	return query.Strategy{Name: name, MaxFailed: "0", MaxSilent: "0", MinReady: "100%", MinCoverage: "50%",
		ProgressDeadline: 60, SilentAfter: 60, WaveTimeout: 60, OnBreach: onBreach,
		Waves: []query.StrategyWave{{Name: "first", All: true, Size: "1", MaxUnavailable: "1"},
			{Name: "rest", All: true, MaxUnavailable: "1"}}}
}

func toyInventory(t repo.Tree) ([]query.Target, diag.List) {
	if os.Getenv("FETTLE_NO_COMPILER") != "" {
		return nil, diag.List{diag.Errorf(diag.Range{}, "Nobody can tell the targets", "")}
	}
	names, ds := toyTargets(t)
	var out []query.Target
	for _, n := range names {
		out = append(out, toyTarget(n))
	}
	return toyEnrolled(t, out), ds
}

func toyVariables(name string) ([]eval.Explained, diag.List) {
	if name != "domain" {
		return nil, diag.List{diag.Errorf(diag.Range{}, "Unknown variable", "There is no variable %q. Did you mean %q?",
			name, "domain")}
	}
	at := func(file string, line int) diag.Range { return diag.Range{File: file, Start: diag.Pos{Line: line}} }
	return []eval.Explained{{Module: "module web", Name: name, Type: "string", Value: `"example.org"`,
		Range: at("modules/web/module.hcl", 1), Layers: []eval.Layer{
			{Name: "default", Value: `"localhost"`, Range: at("modules/web/module.hcl", 2)},
			{Name: "target web1", Value: `"example.org"`, Range: at("fettle.hcl", 4)},
		}}}, nil
}

func toyKinds() []kind.Kind {
	return []kind.Kind{{Name: "file", Doc: "A regular file.", Main: "path", Attrs: []kind.Attr{
		{Name: "path", Type: cty.String, Required: true, Doc: "where it is"},
		{Name: "mode", Type: cty.String, Default: cty.StringVal("0644"), Doc: "permission bits"},
		{Name: "tags", Type: cty.List(cty.String), Doc: "words"},
	}, Actions: []kind.Action{{Name: "touch", Doc: "sets its time"}}}}
}

func toyCompile(in compile.Input) (compile.Result, diag.List) {
	if os.Getenv("FETTLE_NO_COMPILER") != "" {
		return compile.Result{}, diag.List{diag.Errorf(diag.Range{}, "Nobody can compile", "")}
	}
	text, err := in.Tree.ReadFile("fettle.hcl")
	if err != nil {
		return compile.Result{}, diag.List{diag.Errorf(diag.Range{File: "fettle.hcl"}, "File cannot be read", "%v", err)}
	}
	list, ds := step.Parse("fettle.hcl", text)
	if strings.Contains(string(text), "# odd") {
		ds = append(ds, diag.Warningf(diag.Range{File: "fettle.hcl"}, "Odd", "It is odd."))
	}
	res := compile.Result{Target: in.Target, Blobs: map[string]kind.Blob{}}
	for i, s := range list {
		if s.Verb == step.Copy {
			digest, size, err := in.Tree.Digest(s.Args[0])
			if err != nil {
				return res, append(ds, diag.Errorf(s.Range, "Cannot read the source", "%v", err))
			}
			res.Blobs[digest] = kind.Blob{Digest: digest, Size: size, Tree: in.Tree, Path: s.Args[0]}
			s.Args = []string{digest, s.Args[1]}
		}
		s.Source, s.Written = "fettle.hcl:"+itoa(s.Range.Start.Line), ""
		res.List = append(res.List, s)
		res.States = append(res.States, compile.StateInfo{ID: strings.ToLower(string(s.Verb)) + "." + itoa(i),
			Range: s.Range, Steps: []int{i}})
	}
	return res, ds
}

func itoa(n int) string {
	b, _ := json.Marshal(n)
	return string(b)
}

func TestScripts(t *testing.T) {
	schemas, err := filepath.Abs("../../../../docs/schema")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Setup: func(e *testscript.Env) error {
			e.Values[hubKey] = &hubHolder{}
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("USER", "jane")
			e.Setenv("TERM", "xterm")
			e.Setenv("GIT_AUTHOR_DATE", "2026-11-20T10:00:00Z")
			e.Setenv("GIT_COMMITTER_DATE", "2026-11-20T10:00:00Z")
			return os.WriteFile(filepath.Join(e.WorkDir, ".gitconfig"),
				[]byte("[user]\n\tname = Jane\n\temail = jane@example.org\n[init]\n\tdefaultBranch = main\n"), 0o644)
		},
		Condition: func(cond string) (bool, error) {
			if cond != "root" {
				return false, fmt.Errorf("there is no condition %s", cond)
			}
			return os.Geteuid() == 0, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code":    cmdCode,
			"hub":     cmdHub,
			"asks":    cmdAsks,
			"until":   cmdUntil,
			"webhook": cmdWebhook,

			"unassign": cmdUnassign,
			"later":    cmdLater,
			"capture":  cmdCapture,
			"deadhub":  cmdDeadHub,
			"silent":   cmdSilent,
			"schema":   func(ts *testscript.TestScript, neg bool, args []string) { cmdSchema(ts, schemas, args) },
		},
	})
}

// cmdCode runs fettle and wants one exit code: code 2 plan --json
func cmdCode(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 1 {
		ts.Fatalf("usage: code N ARGS…")
	}
	err := ts.Exec("fettle", args[1:]...)
	got := "0"
	if err != nil {
		got = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if got != args[0] {
		ts.Fatalf("fettle %s: exit code %s, want %s", strings.Join(args[1:], " "), got, args[0])
	}
}

// cmdSchema holds a JSON document to its schema: schema stdout
func cmdSchema(ts *testscript.TestScript, dir string, args []string) {
	text := ts.ReadFile(args[0])
	dec := json.NewDecoder(strings.NewReader(text))
	var doc any
	if err := dec.Decode(&doc); err != nil {
		ts.Fatalf("no JSON document: %v", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		ts.Fatalf("more than one JSON document")
	}
	if err := checkSchema(dir, doc); err != nil {
		ts.Fatalf("%v\n%s", err, text)
	}
}

// toyTargets are in the first line.
func toyTargets(t repo.Tree) ([]string, diag.List) {
	text, err := t.ReadFile("fettle.hcl")
	if err != nil {
		return nil, diag.List{diag.Errorf(diag.Range{File: "fettle.hcl"}, "File cannot be read", "%v", err)}
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return strings.Fields(strings.TrimPrefix(first, "# targets:")), nil
}
