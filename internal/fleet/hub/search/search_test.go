package search

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/fleet/view"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/repo"
)

// world is a read model and a store of content, with an index.
type world struct {
	t     *testing.T
	view  *view.View
	store *content.Store
	now   time.Time
	reads int // trees that the language read
	stuck bool
	// afterParts is called when the assigned content is known; nil: nothing.
	afterParts func()
	free       chan struct{} // ends a reading that is stuck
	Service
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, now: time.Unix(1e9, 0), free: make(chan struct{})}
	var err error
	if w.view, err = view.Open(filepath.Join(t.TempDir(), "view.db"), view.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.view.Close() })
	if w.store, err = content.OpenStore(mem.NewFS(mem.Options{}), "/content", 0); err != nil {
		t.Fatal(err)
	}
	w.Service = Service{Views: w.view, Rollouts: w,
		Index: NewIndex(IndexConfig{Store: w.store, Parts: w.parts, Now: func() time.Time { return w.now },
			States: w.states}),
		Runs: func(ctx context.Context, q view.RunQuery) ([]document.Event, int, error) {
			return view.Runs(ctx, w.view, q)
		}}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Index.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	return w
}

func (w *world) parts(ctx context.Context, most int) ([]view.PartInUse, error) {
	parts, err := view.PartsInUse(ctx, w.view, most)
	if w.afterParts != nil {
		w.afterParts()
	}
	return parts, err
}

// Rollouts implements Rollouts.
func (w *world) Rollouts(context.Context) ([]document.Rollout, error) {
	return []document.Rollout{{ID: "r1", Cause: "Serve nginx", Parts: []string{"modules/web"}}}, nil
}

func (w *world) states(tree repo.Tree) ([]query.DeclaredState, diag.List) {
	w.reads++
	if w.stuck {
		<-w.free
	}
	return compile.Open(tree).States()
}

// pack stores the parts of a repository.
func (w *world) pack(commit string, files map[string]string) (parts []fleet.Assigned) {
	w.t.Helper()
	tree := repo.MapTree(files)
	names, err := content.Parts(tree)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, name := range names {
		b, err := w.store.Add(func(to io.Writer) error { _, err := content.Pack(to, tree, name); return err })
		if err != nil {
			w.t.Fatal(err)
		}
		parts = append(parts, fleet.Assigned{Module: name, Bundle: b,
			Revision: fleet.Revision{Repository: "site", Commit: strings.Repeat(commit, 40), Subject: "Serve " + commit}})
	}
	return parts
}

// assign assigns parts to a target.
func (w *world) assign(n, generation int, parts []fleet.Assigned) {
	w.t.Helper()
	id := fleet.TargetID(strings.Repeat(string(rune('a'+n)), 25) + "a")
	name := fmt.Sprint("web", n)
	err := w.view.PutTarget(w.t.Context(), fleet.Target{ID: id, Name: name, Standing: fleet.Active,
		Labels: map[string]string{"env": "prod"}})
	a := fleet.Assignment{Format: fleet.AssignmentFormat, Target: id, Name: name, Epoch: 1, Generation: uint64(generation)}
	for _, p := range parts {
		if p.Module == content.RootBundle {
			a.Root = p
		} else {
			a.Modules = append(a.Modules, p)
		}
	}
	if err = errors.Join(err, w.view.PutAssignment(w.t.Context(), a)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) find(text string) document.Search {
	w.t.Helper()
	d, err := w.Search(w.t.Context(), api.Caller{Now: w.now}, route.SearchQuery{Text: text}, route.None{})
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

// want compares the found states, and the content that could not be searched.
func (w *world) want(text, states, incomplete string) {
	w.t.Helper()
	d, got := w.find(text), ""
	for _, s := range d.States {
		var commits []string
		for _, c := range s.Commits {
			commits = append(commits, c[:1])
		}
		got += fmt.Sprintf("%s:%s %s:%d %s %d %v; ", s.Kind, strings.Join(s.Names, ","), s.File, s.Line,
			strings.Join(commits, ","), s.Targets, s.First)
	}
	if got != states || strings.Join(d.Incomplete, "; ") != incomplete {
		w.t.Errorf("%q: %s\n%q, want\n%s\n%q", text, got, d.Incomplete, states, incomplete)
	}
}

const top = "file \"/etc/motd\" {\n  content = \"secret\"\n}\n"

// TestStates: files and packages are found by a part of their name, with the targets of their module.
func TestStates(t *testing.T) {
	w := newWorld(t)
	w.want("nginx", "", "")
	parts := w.pack("a", map[string]string{"fettle.hcl": top,
		"modules/web/module.hcl": "package \"nginx\" {}\nfile \"/etc/nginx/nginx.conf\" {\n  content = \"secret\"\n}\n",
		"modules/db/module.hcl":  "package \"postgresql\" {}\n"})
	w.assign(1, 1, parts)
	w.assign(2, 1, []fleet.Assigned{parts[0], parts[len(parts)-1]})
	const file = "file:/etc/nginx/nginx.conf modules/web/module.hcl:2 a 2 [web1 web2]; "
	w.want("nginx", "package:nginx modules/web/module.hcl:1 a 2 [web1 web2]; "+file, "")
	w.want("/etc/nginx/NGINX.conf", file, "")
	w.want("package:post", "package:postgresql modules/db/module.hcl:1 a 1 [web1]; ", "")
	w.want("motd", "file:/etc/motd fettle.hcl:1 a 2 [web1 web2]; ", "")
	w.want("secret", "", "")
	if w.reads != 1 {
		t.Errorf("the same content was read %d times", w.reads)
	}
}

// TestVersions: during a rollout, the states of both versions of a module are found, equal ones once. The index forgets
// content that is no longer assigned.
func TestVersions(t *testing.T) {
	w := newWorld(t)
	v1 := w.pack("a", map[string]string{"fettle.hcl": top, "modules/web/module.hcl": "package \"nginx\" {}\n"})
	v2 := w.pack("b", map[string]string{"fettle.hcl": top,
		"modules/web/module.hcl": "package \"nginx\" {}\npackage \"nginx-extras\" {}\n"})
	w.assign(1, 1, v1)
	w.assign(2, 1, v2)
	const extras = "package:nginx-extras modules/web/module.hcl:2 b 1 [web2]; "
	w.want("nginx", "package:nginx modules/web/module.hcl:1 a,b 2 [web1 web2]; "+extras, "")
	if w.reads != 2 {
		t.Errorf("%d trees", w.reads)
	}
	w.assign(1, 2, v2)
	w.pack("c", map[string]string{"fettle.hcl": "\n"})
	w.assign(3, 1, w.pack("c", map[string]string{"fettle.hcl": top, "modules/x/module.hcl": "user \"nginx\" {}\n"}))
	w.want("nginx", "package:nginx modules/web/module.hcl:1 b 2 [web1 web2]; "+
		"user:nginx modules/x/module.hcl:1 c 1 [web3]; package:nginx-extras modules/web/module.hcl:2 b 2 [web1 web2]; ", "")
	if n := len(w.Index.known); n != 3 {
		t.Errorf("the index has %d bundles", n)
	}
}

// TestUnreadable: content that is missing or broken is named, and the rest is searched. It is read again later.
func TestUnreadable(t *testing.T) {
	w := newWorld(t)
	parts := w.pack("a", map[string]string{"fettle.hcl": top, "modules/bad/module.hcl": "package \"nginx\" {}\n}\n",
		"modules/web/module.hcl": "package \"nginx\" {}\n"})
	missing := fleet.Assigned{Module: "modules/gone", Revision: parts[0].Revision,
		Bundle: fleet.Bundle{Digest: "sha256:" + strings.Repeat("5", 64), Size: 5}}
	w.assign(1, 1, append(parts, missing))
	d := w.find("modules/web/module")
	if text := strings.Join(d.Incomplete, "\n"); !strings.Contains(text, "modules/bad: modules/bad/module.hcl:2") ||
		!strings.Contains(text, "modules/gone: this hub does not have its content yet") {
		t.Error(text)
	}
	if d := w.find("package:nginx"); len(d.States) == 0 || w.reads != 1 {
		t.Errorf("%+v, %d trees", d.States, w.reads)
	}
	w.now = w.now.Add(retryMissing + time.Second)
	if w.find("nginx"); w.reads != 2 {
		t.Errorf("missing content was not looked for again: %d trees", w.reads)
	}
}

// TestSlowReading: a search that ends before new content is read has an incomplete result.
func TestSlowReading(t *testing.T) {
	w := newWorld(t)
	w.assign(1, 1, w.pack("a", map[string]string{"fettle.hcl": top}))
	w.stuck = true
	ctx, stop := context.WithCancel(t.Context())
	stop()
	parts, err := w.parts(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	w.Index.await(ctx, parts)
	if len(w.Index.missing(parts)) != 1 {
		t.Error("it was read")
	}
	close(w.free)
	w.want("motd", "file:/etc/motd fettle.hcl:1 a 1 [web1]; ", "")
}

// TestFullIndex: an index has a limited number of states.
func TestFullIndex(t *testing.T) {
	w := newWorld(t)
	parts := w.pack("a", map[string]string{"fettle.hcl": top, "modules/web/module.hcl": "package \"nginx\" {}\n"})
	w.assign(1, 1, parts)
	w.want("nginx", "package:nginx modules/web/module.hcl:1 a 1 [web1]; ", "")
	for _, p := range parts {
		if p.Module == content.RootBundle {
			e := w.Index.known[p.Bundle.Digest]
			e.states = make([]query.DeclaredState, maxIndexed)
			w.Index.known[p.Bundle.Digest] = e
		}
	}
	w.assign(2, 1, append(w.pack("b", map[string]string{"modules/x/module.hcl": "package \"x\" {}\n"}), parts...))
	w.want("package:nginx", "", "modules/web: the index is full; modules/x: the index is full")
}

// TestOtherObjects: targets, modules, commits and rollouts are found as well, and runs by number or commit.
func TestOtherObjects(t *testing.T) {
	w := newWorld(t)
	w.assign(1, 1, w.pack("a", map[string]string{"fettle.hcl": top, "modules/web/module.hcl": "package \"nginx\" {}\n"}))
	for n := range 3 {
		text := fmt.Appendf(nil, `{"format":%q,"target":%q,"seq":%d,"event":{"kind":"applied","run":7},"status":{}}`,
			fleet.ReportFormat, strings.Repeat("b", 25)+"a", n+1)
		if err := w.view.Append(t.Context(), uint64(n+1), [][]byte{text}); err != nil {
			t.Fatal(err)
		}
	}
	for text, want := range map[string]string{
		"web1": "1 0 0 0 0 0", "ENV=PROD": "1 0 0 0 0 0", "web": "1 1 0 0 1 0", "serve nginx": "0 0 0 0 1 0",
		"serve a": "0 0 0 1 0 0", "aaaaaaaa": "0 0 0 1 0 0", "7": "0 0 0 0 0 3",
		"web1 7": "0 0 0 0 0 3", "web2 7": "0 0 0 0 0 0",
		"-7": "0 0 0 0 0 0", " ": "0 0 0 0 0 0", "no such text": "0 0 0 0 0 0",
	} {
		d := w.find(text)
		got := fmt.Sprint(len(d.Targets), len(d.Modules), len(d.States), len(d.Commits), len(d.Rollouts), len(d.Runs))
		if got != want || d.Empty() != (want == "0 0 0 0 0 0") {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	d, err := w.Search(t.Context(), api.Caller{Now: w.now}, route.SearchQuery{Text: "7", Limit: 2}, route.None{})
	if err != nil || len(d.Runs) != 2 || d.More["runs"] != 1 || len(d.More) != 1 {
		t.Errorf("%+v, %v", d, err)
	}
	var refused *api.Refusal
	_, err = w.Search(t.Context(), api.Caller{Now: w.now}, route.SearchQuery{Text: strings.Repeat("x", 201)}, route.None{})
	if !errors.As(err, &refused) {
		t.Errorf("a long text: %v", err)
	}
}

// TestTurns: a search waits while other searches run, until its client gives up.
func TestTurns(t *testing.T) {
	w := newWorld(t)
	var ends []func()
	for range maxSearches {
		_, end, err := w.Index.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, end)
	}
	ctx, stop := context.WithCancel(t.Context())
	w.afterParts = stop
	_, err := w.Search(ctx, api.Caller{Now: w.now}, route.SearchQuery{Text: "x"}, route.None{})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	w.afterParts = nil
	found := make(chan error, 1)
	go func() {
		_, err := w.Search(t.Context(), api.Caller{Now: w.now}, route.SearchQuery{Text: "x"}, route.None{})
		found <- err
	}()
	ends[0]()
	if err := <-found; err != nil {
		t.Error(err)
	}
	ends[1]()
}
