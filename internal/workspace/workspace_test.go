package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/hint"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/workspace"
)

// language compiles in this process, and counts the calls.
type language struct {
	compiled, read int
	warnings       diag.List // of each compilation
}

func (l *language) Compile(in compile.Input) (compile.Result, diag.List) {
	l.compiled++
	res, ds := compile.Compile(in)
	return res, append(ds, l.warnings...)
}

func (l *language) Inventory(repo.Tree) ([]query.Target, diag.List) {
	l.read++
	return []query.Target{{Name: "one"}}, nil
}

const (
	mainText   = "target \"one\" { modules = [\"m\"] }\n"
	moduleText = "file \"/etc/greeting\" {\n  content = \"hello\\n\"\n}\n"
)

// directory is a repository without git.
func directory(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"fettle.hcl": mainText, "modules/m/module.hcl": moduleText} {
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// committed is a repository with one commit.
func committed(t testing.TB) string {
	t.Helper()
	dir := directory(t)
	if _, err := repo.Init(t.Context(), dir, []string{"fettle.hcl", "modules/m/module.hcl"}, "first"); err != nil {
		t.Fatal(err)
	}
	return dir
}

// cached is a workspace in a directory, with an empty cache.
func cached(dir string) (workspace.Workspace, *language) {
	files, l := mem.New(mem.Options{}), &language{}
	return workspace.Workspace{Dir: dir, Language: l, Program: "p", Now: time.Now,
		Cache: func() (host.FS, func() error, error) { return files, func() error { return nil }, nil }}, l
}

func open(t testing.TB, w workspace.Workspace) *workspace.Source {
	t.Helper()
	src, err := w.Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(src.Close)
	return src
}

// request compiles the target and loads its list.
func request(t testing.TB, w workspace.Workspace, src *workspace.Source) executor.Request {
	t.Helper()
	req, err := w.Request(src, compile.Input{Tree: src.Tree, Target: "one"})
	if err != nil {
		t.Fatal(err)
	}
	if req.Load != nil {
		loaded, err := req.Load()
		if err != nil {
			t.Fatal(err)
		}
		req.List = loaded.List
	}
	return req
}

// TestOpen: a directory below the main file belongs to the repository.
func TestOpen(t *testing.T) {
	for name, dir := range map[string]string{"without git": directory(t), "with git": committed(t)} {
		w, _ := cached(filepath.Join(dir, "modules", "m"))
		src := open(t, w)
		if src.Directory() != dir || src.Prefix != "." || src.Committed() != (name == "with git") {
			t.Errorf("%s: %q, prefix %q, committed: %v", name, src.Directory(), src.Prefix, src.Committed())
		}
		if text, err := src.Tree.ReadFile("fettle.hcl"); err != nil || string(text) != mainText {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

// TestRepositoryBelow: the main file can be in a directory of a git repository.
func TestRepositoryBelow(t *testing.T) {
	top := t.TempDir()
	if err := os.Rename(directory(t), filepath.Join(top, "config")); err != nil {
		t.Fatal(err)
	}
	if _, err := repo.Init(t.Context(), top, []string{"config/fettle.hcl"}, "first"); err != nil {
		t.Fatal(err)
	}
	w, _ := cached(filepath.Join(top, "config", "modules"))
	src := open(t, w)
	if src.Prefix != "config" || src.Directory() != filepath.Join(top, "config") {
		t.Errorf("prefix %q, %q", src.Prefix, src.Directory())
	}
	if _, err := src.Tree.ReadFile("fettle.hcl"); err != nil {
		t.Error(err)
	}
}

// TestNoRepository: the error says so before another file is read, and names the next step.
func TestNoRepository(t *testing.T) {
	w, _ := cached(t.TempDir())
	w.Prepare = func() { t.Error("the compiler was started") }
	_, err := w.Open(t.Context(), "")
	if text, _ := hint.Of(err); !errors.Is(err, workspace.ErrNoRepository) || !strings.Contains(text, "fettle init") {
		t.Errorf("%v, hint %q", err, text)
	}
	w, _ = cached(committed(t))
	if _, err := w.Open(t.Context(), "gone"); err == nil || errors.Is(err, workspace.ErrNoRepository) {
		t.Errorf("an unknown revision: %v", err)
	}
}

// TestOrderOfOpening: limits are set before a file is read, and the compiler starts only if no earlier
// command read the files.
func TestOrderOfOpening(t *testing.T) {
	w, _ := cached(committed(t))
	var calls []string
	w.Configure = func() { calls = append(calls, "configure") }
	w.Prepare = func() { calls = append(calls, "prepare") }
	w.Now = func() time.Time { return time.Now().Add(time.Hour) } // files that are older can be remembered
	open(t, w)
	open(t, w)
	if got := strings.Join(calls, " "); got != "configure prepare configure" {
		t.Errorf("%s", got)
	}
}

// TestInventory: the targets of a commit are read once, also by a later command.
func TestInventory(t *testing.T) {
	for name, c := range map[string]struct {
		dir   string
		reads int
	}{"a commit": {committed(t), 1}, "files without git": {directory(t), 2}} {
		w, l := cached(c.dir)
		for range 2 {
			all, err := w.Inventory(open(t, w))
			if err != nil || len(all) != 1 || all[0].Name != "one" {
				t.Errorf("%s: %+v, %v", name, all, err)
			}
		}
		if l.read != c.reads {
			t.Errorf("%s: read %d times", name, l.read)
		}
	}
}

// TestOtherContent: targets of other files are not used, also if the cache is the same.
func TestOtherContent(t *testing.T) {
	w, l := cached(committed(t))
	other := directory(t)
	if err := os.WriteFile(filepath.Join(other, "fettle.hcl"), []byte(mainText+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := repo.Init(t.Context(), other, []string{"fettle.hcl", "modules/m/module.hcl"}, "first"); err != nil {
		t.Fatal(err)
	}
	for i, dir := range []string{committed(t), other} {
		if _, err := w.Inventory(open(t, w)); err != nil {
			t.Fatal(err)
		}
		w.Dir = dir
		if _, err := w.Inventory(open(t, w)); err != nil || l.read != i+1 {
			t.Errorf("%s: read %d times, %v", dir, l.read, err)
		}
	}
}

// TestChangedFile: a changed file is not the commit, and the cache is not used.
func TestChangedFile(t *testing.T) {
	dir := committed(t)
	w, l := cached(dir)
	request(t, w, open(t, w))
	text := strings.Replace(moduleText, "hello", "good morning", 1)
	if err := os.WriteFile(filepath.Join(dir, "modules/m/module.hcl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	src := open(t, w)
	if src.Committed() || !src.Rev.Dirty {
		t.Errorf("the revision is %+v", src.Rev)
	}
	request(t, w, src)
	if l.compiled != 2 {
		t.Errorf("compiled %d times", l.compiled)
	}
}

// TestRequest: the list of a commit is compiled once, and is the same from the cache.
func TestRequest(t *testing.T) {
	w, l := cached(committed(t))
	w.Adopt = true
	first, second := request(t, w, open(t, w)), request(t, w, open(t, w))
	if l.compiled != 1 {
		t.Errorf("compiled %d times", l.compiled)
	}
	if first.List.Digest() != second.List.Digest() || second.ListDigest != first.List.Digest() {
		t.Errorf("%s and %s", first.List.Digest(), second.List.Digest())
	}
	for _, r := range []executor.Request{first, second} {
		if r.Target != "one" || !r.Adopt || r.Repository.Root == "" || r.Revision.Commit == "" {
			t.Errorf("%+v", r)
		}
	}
	w.Program = "another build"
	if request(t, w, open(t, w)); l.compiled != 2 {
		t.Errorf("another build compiled it %d times", l.compiled-1)
	}
}

// TestWarnings: a list with warnings is not cached, so that each command shows them.
func TestWarnings(t *testing.T) {
	w, l := cached(committed(t))
	l.warnings = diag.List{{Severity: diag.Warning, Summary: "Careful"}}
	warned := 0
	w.Warn = func(ds diag.List) { warned += len(ds) }
	request(t, w, open(t, w))
	request(t, w, open(t, w))
	if warned != 2 || l.compiled != 2 {
		t.Errorf("%d warnings, compiled %d times", warned, l.compiled)
	}
}

// TestLostCache: a list that is no longer cached is compiled again.
func TestLostCache(t *testing.T) {
	w, l := cached(committed(t))
	request(t, w, open(t, w))
	broken, usable := w, w.Cache
	lost := false
	broken.Cache = func() (host.FS, func() error, error) {
		if lost {
			return nil, nil, errors.New("there is no cache")
		}
		return usable()
	}
	src := open(t, broken)
	req, err := broken.Request(src, compile.Input{Tree: src.Tree, Target: "one"})
	if err != nil || l.compiled != 1 {
		t.Fatalf("%v, compiled %d times", err, l.compiled)
	}
	lost = true
	if loaded, err := req.Load(); err != nil || loaded.List.Digest() != req.ListDigest || l.compiled != 2 {
		t.Errorf("%v, compiled %d times", err, l.compiled)
	}
}

// TestNoCache: everything works without a cache.
func TestNoCache(t *testing.T) {
	w, l := cached(committed(t))
	w.Cache = nil
	for range 2 {
		src := open(t, w)
		if all, err := w.Inventory(src); len(all) != 1 || err != nil {
			t.Errorf("%+v, %v", all, err)
		}
		request(t, w, src)
	}
	if l.compiled != 2 || l.read != 2 {
		t.Errorf("compiled %d times, read %d times", l.compiled, l.read)
	}
}

// TestErrors: errors of the configuration are the result.
func TestErrors(t *testing.T) {
	w, _ := cached(committed(t))
	src := open(t, w)
	var list *diag.ListError
	_, err := w.Request(src, compile.Input{Tree: src.Tree, Target: "two"})
	if !errors.As(err, &list) {
		t.Errorf("%v", err)
	}
}

func ExampleWorkspace_Open() {
	dir, err := os.MkdirTemp("", "workspace")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "fettle.hcl"), []byte("target \"one\" {}\n"), 0o600); err != nil {
		panic(err)
	}
	w := workspace.Workspace{Dir: dir, Language: &language{}, Now: time.Now}
	src, err := w.Open(context.Background(), "")
	if err != nil {
		panic(err)
	}
	defer src.Close()
	targets, err := w.Inventory(src)
	fmt.Println(targets[0].Name, err)
	req, err := w.Request(src, compile.Input{Tree: src.Tree, Target: targets[0].Name})
	fmt.Println(len(req.List), "steps", err)
	// Output:
	// one <nil>
	// 0 steps <nil>
}
