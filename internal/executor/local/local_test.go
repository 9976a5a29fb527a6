package local_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/local"
	"fettle.dev/fettle/internal/host"
	hostlocal "fettle.dev/fettle/internal/host/local"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/step"
)

// machine is a throwaway root with an engine on it.
type machine struct {
	t     *testing.T
	root  string
	x     executor.Executor
	clock time.Time
	// guarded is the deadline that the engine asked to be watched.
	guarded time.Time
	// wrap, when set, stands between the engine and the host.
	wrap func(host.Host) host.Host
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{t: t, root: t.TempDir(), clock: time.Now()}
	for p, text := range map[string]string{
		"etc/passwd": "root:x:0:0:root:/root:/bin/bash\n", "etc/group": "root:x:0:\n", "etc/hostname": "web1\n",
		"srv/.keep": "",
	} {
		m.write("/"+p, text)
	}
	m.open()
	return m
}

// open opens the engine anew, as the next process would.
func (m *machine) open() {
	m.t.Helper()
	state := filepath.Join(m.root, "var/lib/fettle")
	if err := os.MkdirAll(state, 0o700); err != nil {
		m.t.Fatal(err)
	}
	h, err := hostlocal.Open(m.root, hostlocal.Options{})
	if err != nil {
		m.t.Fatal(err)
	}
	st, err := hostlocal.Open(state, hostlocal.Options{})
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { h.Close(); st.Close() })
	var seen host.Host = h
	if m.wrap != nil {
		seen = m.wrap(h)
	}
	x, err := local.New(seen, st, local.Options{Now: func() time.Time { return m.clock },
		Guard: func(_ context.Context, d time.Time) error { m.guarded = d; return nil }})
	if err != nil {
		m.t.Fatal(err)
	}
	m.x = asked(m.t, x)
}

func (m *machine) write(p, text string) {
	m.t.Helper()
	full := filepath.Join(m.root, p)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) read(p string) string {
	m.t.Helper()
	b, err := os.ReadFile(filepath.Join(m.root, p))
	if errors.Is(err, os.ErrNotExist) {
		return "(absent)"
	}
	if err != nil {
		m.t.Fatal(err)
	}
	return string(b)
}

func (m *machine) want(p, text string) {
	m.t.Helper()
	if got := m.read(p); got != text {
		m.t.Errorf("%s holds %q, want %q", p, got, text)
	}
}

// request makes a request of a list and the files it copies.
func (m *machine) request(list string, files map[string]string) executor.Request {
	m.t.Helper()
	l, ds := step.Parse("list", []byte(list))
	if err := ds.Err(); err != nil {
		m.t.Fatal(err)
	}
	tree := fstest.MapFS{}
	blobs := map[string]kind.Blob{}
	for name, text := range files {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
		blobs[journal.DigestOf([]byte(text))] = kind.Blob{Digest: journal.DigestOf([]byte(text)), Size: int64(len(text)),
			Data: []byte(text)}
	}
	if l, ds = step.Resolve(l, step.Directory{FS: tree}); ds.Err() != nil {
		m.t.Fatal(ds.Err())
	}
	return executor.Request{Target: "web1", Revision: repo.Revision{Digest: l.Digest()}, List: l, Blobs: blobs,
		Repair: true, Diffs: true}
}

func (m *machine) apply(list string, files map[string]string) *executor.Report {
	m.t.Helper()
	r := m.request(list, files)
	p, err := m.x.Plan(context.Background(), r)
	if err != nil {
		m.t.Fatalf("plan: %v", err)
	}
	rep, err := m.x.Apply(context.Background(), r, p, executor.Options{User: "test"}, nil)
	if err != nil {
		m.t.Fatalf("apply: %v", err)
	}
	if again, err := m.x.Plan(context.Background(), r); err != nil || !again.Empty() {
		m.t.Errorf("after apply the plan is not empty: %v %s", err, actions(again))
	}
	return rep
}

func (m *machine) rollback(to int) *executor.Report {
	m.t.Helper()
	rep, err := m.x.Rollback(context.Background(), executor.RollbackRequest{To: to}, nil, executor.Options{}, nil)
	if err != nil {
		m.t.Fatalf("rollback to %d: %v", to, err)
	}
	return rep
}

func actions(p *plan.Plan) string {
	if p == nil {
		return "no plan"
	}
	var s []string
	for _, c := range p.Changes {
		s = append(s, string(c.Action)+" "+string(c.Addr))
	}
	return strings.Join(s, "; ")
}

const (
	v1 = "MKDIR /srv/www\nCOPY a /srv/www/a mode=0640\nCOPY b /srv/www/b\nLINK a /srv/www/l\n"
	v2 = "MKDIR /srv/www mode=0750\nCOPY a /srv/www/a mode=0640\nCOPY c /srv/www/c\nEDIT /etc/hostname line=extra\n"
)

func TestApplyUpdateRollback(t *testing.T) {
	m := newMachine(t)
	m.write("/srv/keep", "kept")
	m.write("/srv/www/b", "foreign")
	if rep := m.apply(v1, map[string]string{"a": "A1", "b": "B1"}); rep.Run != 1 || rep.Changed != 3 {
		t.Errorf("run %d changed %d, want run 1 with 3 (the directory was there)", rep.Run, rep.Changed)
	}
	m.want("/srv/www/a", "A1")
	m.want("/srv/www/b", "B1")
	m.apply(v2, map[string]string{"a": "A2", "c": "C2"})
	m.want("/srv/www/a", "A2")
	m.want("/srv/www/b", "foreign")
	m.want("/srv/www/l", "(absent)")
	m.want("/etc/hostname", "web1\nextra\n")
	m.rollback(1)
	m.want("/srv/www/a", "A1")
	m.want("/srv/www/b", "B1")
	m.want("/srv/www/l", "A1")
	m.want("/srv/www/c", "(absent)")
	m.want("/etc/hostname", "web1\n")
	m.rollback(0)
	m.want("/srv/www/a", "(absent)")
	m.want("/srv/www/b", "foreign")
	m.want("/etc/hostname", "web1\n")
	m.want("/srv/keep", "kept")
}

func TestSecondApplyDoesNothing(t *testing.T) {
	m := newMachine(t)
	files := map[string]string{"a": "A1", "b": "B1"}
	m.apply(v1, files)
	if rep := m.apply(v1, files); rep.Run != 0 {
		t.Errorf("the same list again made run %d", rep.Run)
	}
}

func TestDriftIsSeenAndRepaired(t *testing.T) {
	m := newMachine(t)
	files := map[string]string{"a": "A1", "b": "B1"}
	m.apply(v1, files)
	m.write("/srv/www/a", "XX")
	p, err := m.x.Drift(context.Background(), executor.DriftOptions{Diffs: true})
	if err != nil || len(p.Changes) != 1 || p.Changes[0].Addr != "file:/srv/www/a" || !p.Changes[0].Drifted {
		t.Fatalf("drift: %v, %s", err, actions(p))
	}
	m.apply(v1, files)
	m.want("/srv/www/a", "A1")
	m.rollback(1) // what the repair overwrote is kept in run 2, run 1 had A1
	m.want("/srv/www/a", "A1")
}

func TestPurgeTakesForeignFilesAndGivesThemBack(t *testing.T) {
	m := newMachine(t)
	m.write("/srv/www/x/y", "deep")
	list := "MKDIR /srv/www purge=true\nCOPY a /srv/www/a\n"
	m.apply(list, map[string]string{"a": "A"})
	m.want("/srv/www/x/y", "(absent)")
	m.rollback(0)
	m.want("/srv/www/x/y", "deep")
	m.want("/srv/www/a", "(absent)")
}

func TestForeignFilesInADirectoryThatGoesAreKept(t *testing.T) {
	m := newMachine(t)
	m.apply("MKDIR /srv/d\nCOPY a /srv/d/a\n", map[string]string{"a": "A"})
	m.write("/srv/d/foreign", "f")
	rep := m.apply("", nil)
	m.want("/srv/d/foreign", "f")
	m.want("/srv/d/a", "(absent)")
	if len(rep.Notes) != 1 || !strings.Contains(rep.Notes[0], "foreign") {
		t.Errorf("notes: %q", rep.Notes)
	}
}

func TestSavedPlanGoesStale(t *testing.T) {
	m := newMachine(t)
	r := m.request(v1, map[string]string{"a": "A1", "b": "B1"})
	p, err := m.x.Plan(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	m.write("/srv/www/a", "meanwhile")
	if _, err := m.x.Apply(context.Background(), r, p, executor.Options{}, nil); !errors.Is(err, executor.ErrStale) {
		t.Errorf("a stale plan was taken: %v", err)
	}
	m.want("/srv/www/a", "meanwhile")
}

func TestValidateKeepsTheOldFile(t *testing.T) {
	for _, words := range []string{"false", "grep -q good %s"} {
		m := newMachine(t)
		m.write("/etc/conf", "old")
		r := m.request("COPY a /etc/conf validate=\""+words+"\"\nCOPY b /etc/after\n",
			map[string]string{"a": "bad", "b": "B"})
		h, err := hostlocal.Open(m.root, hostlocal.Options{})
		if err != nil {
			t.Fatal(err)
		}
		h.Close()
		rep, err := m.x.Apply(context.Background(), r, nil, executor.Options{}, nil)
		if err == nil || rep == nil || rep.Failed == nil {
			t.Fatalf("%s: accepted: %v %+v", words, err, rep)
		}
		m.want("/etc/conf", "old")
		m.want("/etc/after", "(absent)")
	}
}

func TestUndoOnFailure(t *testing.T) {
	m := newMachine(t)
	r := m.request("COPY a /etc/a\nCOPY b /etc/b validate=false\n", map[string]string{"a": "A", "b": "B"})
	_, err := m.x.Apply(context.Background(), r, nil, executor.Options{OnFailure: "undo"}, nil)
	if !errors.Is(err, executor.ErrUndone) {
		t.Fatalf("not rolled back: %v", err)
	}
	m.want("/etc/a", "(absent)")
	m.want("/etc/b", "(absent)")
}

func TestFreezeSurvives(t *testing.T) {
	m := newMachine(t)
	if err := m.x.Freeze(context.Background(), journal.Frozen{By: "ann", Why: "audit"}, executor.Options{}); err != nil {
		t.Fatal(err)
	}
	m.open()
	_, err := m.x.Apply(context.Background(), m.request(v1, map[string]string{"a": "A", "b": "B"}), nil,
		executor.Options{}, nil)
	if !errors.Is(err, executor.ErrFrozen) || !strings.Contains(err.Error(), "audit") {
		t.Errorf("a frozen machine was changed: %v", err)
	}
	if _, err := m.x.Apply(context.Background(), m.request("COPY a /etc/a\n", map[string]string{"a": "0"}), nil,
		executor.Options{IgnoreFreeze: true}, nil); err != nil {
		t.Errorf("the freeze is not overridden: %v", err)
	}
	if err := m.x.Unfreeze(context.Background(), executor.Options{}); err != nil {
		t.Fatal(err)
	}
	m.apply(v1, map[string]string{"a": "A", "b": "B"})
}

func TestUnconfirmedRunIsUndone(t *testing.T) {
	m := newMachine(t)
	m.apply("COPY a /etc/a\n", map[string]string{"a": "A1"})
	o := executor.Options{ConfirmWithin: time.Minute}
	rep, err := m.x.Apply(context.Background(), m.request("COPY a /etc/a\n", map[string]string{"a": "A2"}), nil, o, nil)
	if err != nil || rep.ConfirmBy == 0 || m.guarded.IsZero() {
		t.Fatalf("%v %+v", err, rep)
	}
	m.want("/etc/a", "A2")
	m.clock = m.clock.Add(2 * time.Minute)
	m.open()
	if rep, err = m.x.Recover(context.Background(), executor.Options{}, nil); err != nil || rep == nil {
		t.Fatalf("recover: %v %+v", err, rep)
	}
	m.want("/etc/a", "A1")
	if _, err := m.x.Confirm(context.Background(), executor.Options{}); err == nil {
		t.Error("confirmed what was undone")
	}
}
