package hub_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/compile/limited"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/differences"
	"fettle.dev/fettle/internal/fleet/route"
)

// compileChild is the argument that makes this binary a compiler.
const compileChild = "compile-child"

// compareInChild returns a compiler in a process of its own.
func compareInChild(ctx context.Context) differences.Compiler {
	return limited.NewPool(ctx, compileChild, 1)
}

// comparing has the compilers that compare commits.
type comparing struct {
	compilers atomic.Int32 // that were started
	// comparer returns a compiler; nil means compareInChild.
	comparer func(context.Context) differences.Compiler
}

func (c *comparing) compare(ctx context.Context) differences.Compiler {
	if c.compilers.Add(1); c.comparer != nil {
		return c.comparer(ctx)
	}
	return compareInChild(ctx)
}

// head returns the commit of a ref of the repository.
func (w *world) head(ref string) string {
	w.t.Helper()
	out, err := exec.CommandContext(w.t.Context(), "git", "-C", w.repo, "rev-parse", ref).Output()
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// differ compares the targets with a commit.
func (w *world) differ(name string) (d document.CommitDifferences, err error) {
	return w.differIn(w.t.Context(), name)
}

func (w *world) differIn(ctx context.Context, name string) (d document.CommitDifferences, err error) {
	at := route.CommitDifferences().Address(route.CommitName{Commit: name})
	return d, socketClient(filepath.Join(w.dir, "hub.sock")).do(ctx, "GET", at, nil, &d)
}

// shown returns differences as text.
func shown(d document.CommitDifferences) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d targets, %d unchanged\n", d.Targets, d.Unchanged)
	for _, g := range d.Groups {
		fmt.Fprintf(&b, "%d %v\n", g.Count, g.Targets)
		for _, l := range g.Lines {
			fields := strings.Fields(l.Text)
			fmt.Fprintf(&b, "  %s %s %s\n", fields[0], fields[len(fields)-1], l.Source)
		}
	}
	for _, r := range slices.Concat(d.Failed, d.NotCompared) {
		fmt.Fprintf(&b, "%d %v: %s\n", r.Count, r.Targets, r.Reason)
	}
	return b.String()
}

// three is a fleet of three targets whose strategy is site's.
func three(t *testing.T) *world {
	w := newWorld(t)
	w.commit(site("one", "0s"))
	w.birth()
	w.start()
	healthy := &atomic.Value{}
	healthy.Store("")
	var all []*follower
	for i := range 3 {
		all = append(all, w.follow(fmt.Sprintf("web%d", i+1), healthy))
	}
	until(t, "the first content", func() (string, bool) {
		got := all[0].has()
		return got, got != "" && !slices.ContainsFunc(all, func(f *follower) bool { return f.has() != got })
	})
	return w
}

// The differences of a commit are those of the targets that do not have it yet, also for a commit that the fleet does
// not follow. They change nothing.
func TestCommitDifferences(t *testing.T) {
	w := three(t)
	main := w.head("main")
	w.git("-C", w.repo, "checkout", "-q", "-b", "next/<b>")
	files := site("two", "1h")
	files["modules/web/web.hcl"] = "\ndirectory \"/srv/new\" {}\n" + files["modules/web/web.hcl"]
	files["modules/web/tests/web.hcl"] = `test "right" {
  expect { steps = ["MKDIR /srv/new*"] }
}
test "wrong" {
  expect { steps = ["MKDIR /srv/other"] }
}
`
	w.commit(files)
	next := w.head("HEAD")
	w.git("-C", w.repo, "update-ref", "refs/pull/12/head", next)
	const all = "3 targets, 0 unchanged\n3 [web1 web2 web3]\n  +MKDIR /srv/new modules/web/web.hcl:2\n" +
		"  -COPY /srv/web modules/web/web.hcl:1\n  +COPY /srv/web modules/web/web.hcl:3\n"
	for _, name := range []string{"next/<b>", "refs/pull/12/head", next} {
		d, err := w.differ(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := shown(d); got != all || d.Commit != next || d.Name != name || d.Subject != "change" {
			t.Errorf("%s: %+v\n%s", name, d, got)
		}
		if p := d.Plan; len(p.Rollouts) != 1 || p.Rollouts[0].WorstCase != 1 || len(p.Rollouts[0].Waves) != 2 {
			t.Errorf("%s: the plan is %+v", name, p)
		}
		if got := d.Tests; got.Total != 2 || got.Passed != 1 || len(got.Failed) != 1 ||
			!strings.HasSuffix(got.Failed[0].ID, "wrong") || got.Failed[0].Reason == "" {
			t.Errorf("%s: the tests are %+v", name, got)
		}
	}
	if n := w.compilers.Load(); n != 1 {
		t.Errorf("%d compilers for the same commit", n)
	}
	var r document.RepositoryPage
	if w.ask("GET", "/v1/repositories", nil, &r); len(r.Repositories) != 1 || r.Repositories[0].Commit != main {
		t.Errorf("the fleet follows %+v", r)
	}

	w.git("-C", w.repo, "checkout", "-q", "main")
	w.git("-C", w.repo, "merge", "-q", "--ff-only", next)
	until(t, "the first wave", func() (string, bool) {
		d, err := w.differ(next[:7])
		if err != nil {
			return err.Error(), false // the hub has not read the branch yet
		}
		ok := d.Unchanged == 1 && len(d.Groups) == 1 && d.Groups[0].Count == 2 && d.Commit == next
		return shown(d), ok && len(d.Failed)+len(d.NotCompared) == 0
	})
}

// A target that the hub cannot compile has a reason: a default does not replace a fact that its agent did not report.
func TestDifferencesWithoutFacts(t *testing.T) {
	w := three(t)
	w.git("-C", w.repo, "checkout", "-q", "-b", "next")
	files := site("two", "1h")
	files["modules/web/web.hcl"] += "\nfact \"cpus\" {\n  type    = number\n  default = 1\n}\n" +
		"file \"/srv/cpus\" {\n  content = \"${fact.cpus}\"\n}\n"
	w.commit(files)
	d, err := w.differ("next")
	if err != nil {
		t.Fatal(err)
	}
	if got := shown(d); len(d.Failed) != 1 || d.Failed[0].Count != 3 || len(d.Groups) > 0 ||
		!strings.Contains(got, "modules/web/web.hcl:5") || !strings.Contains(got, `has not reported the fact "cpus"`) {
		t.Errorf("%s", got)
	}
}

// A commit that does not exist, or that cannot be compiled, is refused with a hint.
func TestDifferencesOfNoCommit(t *testing.T) {
	w := three(t)
	w.git("-C", w.repo, "checkout", "-q", "-b", "broken")
	w.commit(map[string]string{"fettle.hcl": "target_group {"})
	for name, want := range map[string]string{
		"broken": "cannot compile the commit: fettle.hcl:1", "nowhere": "there is no such branch or tag",
		strings.Repeat("a", 40): "refs/pull/12/head", "--upload-pack=x": "it begins with '-'",
		"refs/heads/*": "cannot contain",
	} {
		if _, err := w.differ(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// stuck is a compiler that answers no question.
type stuck struct {
	differences.Compiler
	ctx   context.Context
	begun chan struct{}
	ended chan error
}

func (s stuck) Answer(compile.Question) (any, diag.List) {
	s.begun <- struct{}{}
	<-s.ctx.Done()
	return nil, diag.List{diag.Errorf(diag.Range{}, "It was ended", "")}
}

func (s stuck) Close() {
	s.Compiler.Close()
	s.ended <- context.Cause(s.ctx)
}

// Only one comparison runs at a time. It ends with its request, and the next one can begin.
func TestDifferencesOfACancelledRequest(t *testing.T) {
	w := three(t)
	s := stuck{begun: make(chan struct{}), ended: make(chan error, 1)}
	w.comparer = func(ctx context.Context) differences.Compiler {
		s := s
		s.ctx, s.Compiler = ctx, compareInChild(ctx)
		return s
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { _, _ = w.differIn(ctx, "main") }()
	<-s.begun
	short, stop := context.WithTimeout(t.Context(), time.Second)
	defer stop()
	if _, err := w.differIn(short, "main"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("another request meanwhile: %v", err)
	}
	if n := w.compilers.Load(); n != 1 {
		t.Errorf("%d compilers at the same time", n)
	}
	w.comparer = nil // a request that begins after this line uses it
	cancel()
	if err := <-s.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the compiler ended because of %v", err)
	}
	if d, err := w.differ("main"); err != nil || d.Unchanged != 3 || d.Targets != 3 {
		t.Errorf("the next request: %+v, %v", d, err)
	}
}

// Secrets are placeholders, which no key decrypts: a target with a secret can be compared, and the answer does not
// contain more than a digest.
func TestDifferencesWithSecrets(t *testing.T) {
	w := three(t)
	w.git("-C", w.repo, "checkout", "-q", "-b", "next")
	files := site("two", "0s")
	files["modules/web/web.hcl"] += "\nfile \"/srv/key\" {\n  content = \"key = ${secret(\"db/password\")}\\n\"\n}\n"
	files["secrets/db/password.age"] = "age-encryption.org/v1\n" // it cannot be decrypted
	w.commit(files)
	d, err := w.differ("next")
	if err != nil || len(d.Groups) != 1 || d.Groups[0].Count != 3 {
		t.Fatalf("%v\n%s", err, shown(d))
	}
	if l := d.Groups[0].Lines; len(l) != 3 || !strings.HasSuffix(l[2].Text, " /srv/key mode=0600 sealed=placeholder") {
		t.Errorf("%+v", l)
	}
}
