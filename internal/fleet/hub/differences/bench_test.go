package differences

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/compile/limited"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/host/local"
	"fettle.dev/fettle/internal/repo"
)

// compileChild is the argument that makes this binary a compiler.
const compileChild = "compile-child"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == compileChild {
		if err := limited.Child(os.Args[2:], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// large is a fleet whose targets have ten modules with twenty files each.
type large struct {
	t     testing.TB
	dir   string
	store *content.Store
	table records.Table
	was   []fleet.Assigned // the parts of the first commit
	// own gives each target another address, which is part of a file.
	own bool
	// one means that the second commit changes only one module.
	one bool
}

func (l *large) git(args ...string) string {
	l.t.Helper()
	all := append([]string{"-C", l.dir, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)
	c := exec.CommandContext(l.t.Context(), "git", all...)
	out, err := c.CombinedOutput()
	if err != nil {
		l.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit commits a version of all files.
func (l *large) commit(version string) string {
	l.t.Helper()
	files := map[string]string{}
	var names []string
	for m := range 10 {
		var b strings.Builder
		if l.own {
			b.WriteString("fact \"default_ipv4\" {\n  type = string\n}\n")
		}
		for f := range 20 {
			text := "version " + version
			if l.one && m > 0 {
				text = "version 1"
			}
			if l.own && f == 0 {
				text += " ${fact.default_ipv4}"
			}
			fmt.Fprintf(&b, "file \"/etc/m%d/f%d\" {\n  content = \"%s\\n\"\n}\n", m, f, text)
		}
		files[fmt.Sprintf("modules/m%d/m.hcl", m)] = fmt.Sprintf("directory \"/etc/m%d\" {}\n", m) + b.String()
		names = append(names, fmt.Sprintf("%q", fmt.Sprintf("m%d", m)))
	}
	files["fettle.hcl"] = fmt.Sprintf("target_group \"all\" {\n  targets = [\"*\"]\n  modules = [%s]\n}\n",
		strings.Join(names, ", "))
	for name, text := range files {
		file := filepath.Join(l.dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			l.t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			l.t.Fatal(err)
		}
	}
	l.git("add", "-A")
	l.git("commit", "-q", "-m", version)
	return l.git("rev-parse", "HEAD")
}

// start returns the service of a fleet of n targets that have the first commit, and the hash of the second commit.
func (l *large) start(n int) (*Service, string) {
	l.t.Helper()
	l.dir = l.t.TempDir()
	l.git("init", "-q", "-b", "main")
	first := l.commit("1")
	files, err := local.Open("/", local.Options{})
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = files.Close() })
	if l.store, err = content.OpenStore(files, l.t.TempDir(), 0); err != nil {
		l.t.Fatal(err)
	}
	r, err := repo.Open(l.t.Context(), l.dir)
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	rev := fleet.Revision{Repository: "site", Commit: first}
	if l.was, err = content.PackAll(l.t.Context(), r, rev, l.store); err != nil {
		l.t.Fatal(err)
	}
	l.table.Refs = records.NewMirror[records.Ref](bustest.NewStore(), "ref/", nil)
	l.table.Assignments = records.NewMirror[records.Assignment](bustest.NewStore(), "", nil)
	l.table.Environments = records.NewMirror[assign.Environment](bustest.NewStore(), "", nil)
	l.table.Targets = records.NewMirror[fleet.Target](bustest.NewStore(), "", nil)
	facts := map[fleet.TargetID]map[string]string{}
	for i := range n {
		t := fleet.Target{ID: fleet.TargetID(fmt.Sprintf("t%05d", i)), Name: fmt.Sprintf("h%05d", i), Standing: fleet.Active}
		if err := l.table.Targets.Put(l.t.Context(), string(t.ID), t, 0); err != nil {
			l.t.Fatal(err)
		}
		facts[t.ID] = map[string]string{"default_ipv4": fmt.Sprintf("10.0.%d.%d", i/250, i%250)}
	}
	s := New(Config{Now: time.Now, Dir: l.t.TempDir(), Records: &l.table, Content: l.store, Decide: l.decide,
		Compiler: func(ctx context.Context) Compiler { return limited.NewPool(ctx, compileChild, 1) },
		Repository: func() records.Repository {
			return records.Repository{Name: "site", URL: "file://" + l.dir, Branch: "main"}
		},
		Facts: func(context.Context) (map[fleet.TargetID]map[string]string, error) { return facts, nil }})
	return s, l.commit("2")
}

// decide gives all targets the modules of a commit.
func (l *large) decide(_ context.Context, c assign.Compiled,
	_ fleet.Revision) (p document.RolloutPlan, all []assign.Desired, err error) {
	was, want := fleet.Assignment{}, fleet.Assignment{}
	for _, part := range l.was {
		next := part
		next.Bundle = c.Bundles[part.Module]
		if part.Module == content.RootBundle {
			was.Root, want.Root = part, next
			continue
		}
		was.Modules, want.Modules = append(was.Modules, part), append(want.Modules, next)
	}
	for _, t := range l.table.Targets.Values() {
		all = append(all, assign.Desired{Target: t, Was: &was, Want: &want})
	}
	return p, all, nil
}

// Targets with different facts have different lists, and one difference.
func TestDifferentFacts(t *testing.T) {
	l := &large{t: t, own: true}
	s, commit := l.start(3)
	d, err := s.CommitDifferences(t.Context(), route.CommitName{Commit: commit})
	if err != nil || len(d.Groups) != 1 || d.Groups[0].Count != 3 || len(d.Groups[0].Lines) != mostLines ||
		d.Groups[0].MoreLines != 200 || d.Groups[0].Lines[0].Source != "modules/m0/m.hcl:5" {
		t.Errorf("%+v, %v", d, err)
	}
}

// The time for a fleet of 1,000 targets with 200 files: one or all of ten modules change, with equal and with different
// facts.
func BenchmarkThousandTargets(b *testing.B) {
	for _, l := range []*large{{one: true}, {one: true, own: true}, {}, {own: true}} {
		b.Run(fmt.Sprintf("one module %t, different facts %t", l.one, l.own), func(b *testing.B) {
			l.t = b
			s, commit := l.start(1000)
			for b.Loop() {
				s.commits, s.answers = kept[compiled]{}, kept[document.CommitDifferences]{}
				d, err := s.CommitDifferences(b.Context(), route.CommitName{Commit: commit})
				if err != nil || d.Groups[0].Count != 1000 {
					b.Fatalf("%+v, %v", d, err)
				}
			}
		})
	}
}
