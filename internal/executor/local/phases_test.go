package local_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/local"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/step"
)

// site is a web server in small: a configuration, a reload that reads it, and a
// command that needs the first configuration in force to make what the second one
// names.
type site struct {
	t       *testing.T
	h       *mem.Host
	state   host.FS
	x       executor.Executor
	now     time.Time
	trace   []string // what was done on the machine
	fails   map[string]bool
	serial  string // what gen prints; "" for nothing of use
	version string // of both configurations
	stdout  bool   // gen gives what it prints, not its file
}

func newSite(t *testing.T) *site {
	s := &site{t: t, fails: map[string]bool{}, serial: "one", version: "1", now: time.Unix(1000, 0)}
	s.h = mem.New(mem.Options{Run: s.run})
	s.state = mem.New(mem.Options{})
	s.open()
	return s
}

func (s *site) open() {
	x, err := local.New(s.h, s.state, local.Options{Now: func() time.Time { return s.now },
		Guard: func(context.Context, time.Time) error { return nil }})
	s.must(err)
	s.x = asked(s.t, x)
}

func (s *site) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) run(_ context.Context, h *mem.Host, c host.Command) (host.CommandResult, error) {
	s.trace = append(s.trace, c.Argv[0]+" with "+s.read("/etc/site"))
	if s.fails[c.Argv[0]] || s.fails[s.trace[len(s.trace)-1]] {
		return host.CommandResult{ExitCode: 1}, nil
	}
	if c.Argv[0] != "gen" {
		return host.CommandResult{}, nil
	}
	_ = h.Remove("/etc/cert")
	s.write("/etc/cert", s.serial)
	return host.CommandResult{Stdout: []byte(s.serial + "\n")}, nil
}

func (s *site) read(p string) string {
	f, err := s.h.Open(p)
	if err != nil {
		return "nothing"
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	s.must(err)
	return string(b)
}

func (s *site) write(p, text string) {
	f, err := s.h.Create(p)
	s.must(err)
	_, err = f.Write([]byte(text))
	s.must(err)
	s.must(f.Close())
}

// request is what a repository would come to with these outputs known.
func (s *site) request(known executor.Known) executor.Request {
	gen := "EXEC gen gen creates=/etc/cert output=/etc/cert"
	if s.stdout {
		gen = "EXEC gen gen creates=/etc/cert output=stdout"
	}
	const reload = "ACT run reload reload on=\"edit:/etc/site#match:^(plain|tls)\""
	lines := []string{"EDIT /etc/site line=plain" + s.version + " match=^(plain|tls)", "META /etc/site mode=0644",
		reload, gen}
	r := executor.Request{Repair: true, Outputs: []executor.OutputRef{{Addr: "exec:gen", Step: stepOf(gen)}}, Known: known}
	second := addr.Addr("edit:/etc/site#match:^(plain|tls)")
	if serial, ok := known["exec:gen"]; ok {
		lines = append(lines, "EDIT /etc/site line=tls"+s.version+":"+serial+" match=^(plain|tls) phase=2", reload,
			"CHECK site file=/etc/site contains=tls")
	} else {
		r.Deferred = []executor.Deferred{{ID: "site.tls", Source: "fettle.hcl:9", Addr: second,
			Needs: []addr.Addr{"exec:gen"}}}
	}
	list, ds := step.Parse("list", []byte(strings.Join(lines, "\n")+"\n"))
	s.must(ds.Err())
	r.List, r.Revision = list, repo.Revision{Digest: "revision " + s.version}
	r.Next = func(known executor.Known) (executor.Request, error) { return s.request(known), nil }
	return r
}

func (s *site) apply(o executor.Options) (*executor.Report, error) {
	s.trace = nil
	return s.x.Apply(context.Background(), s.request(executor.Known{}), nil, o, nil)
}

func (s *site) did(want ...string) {
	s.t.Helper()
	if !slices.Equal(s.trace, want) {
		s.t.Fatalf("did %q, want %q", s.trace, want)
	}
}

// whole is the story from the beginning.
var whole = []string{"reload with plain1\n", "gen with plain1\n", "reload with tls1:one\n"}

func (s *site) prepare() *site {
	s.must(s.h.Mkdir("/etc", 0o755))
	s.write("/etc/site", "plain0\n")
	return s
}

func TestPhases(t *testing.T) {
	for _, stdout := range []bool{false, true} {
		t.Run(fmt.Sprintf("stdout %v", stdout), func(t *testing.T) {
			s := newSite(t).prepare()
			s.stdout = stdout
			p, err := s.x.Plan(context.Background(), s.request(executor.Known{}))
			s.must(err)
			if len(p.Later) != 1 || p.Later[0].State != "site.tls" || p.Later[0].Why != "needs the output of exec:gen" {
				t.Errorf("the plan says of what follows: %+v", p.Later)
			}
			rep, err := s.apply(executor.Options{})
			s.must(err)
			s.did(whole...)
			if got := s.read("/etc/site"); got != "tls1:one\n" {
				t.Errorf("the site is %q", got)
			}
			if len(rep.Runs) != 2 || rep.Run != rep.Runs[1] || len(rep.Checks) != 1 {
				t.Errorf("reported %+v", rep)
			}
			for range 2 { // as it is already
				rep, err = s.apply(executor.Options{})
				s.must(err)
				s.did()
				if rep.Run != 0 || len(rep.Checks) != 1 {
					t.Errorf("the second time: %+v", rep)
				}
			}
			s.version = "2" // both phases change, and only the last is to come
			_, err = s.apply(executor.Options{})
			s.must(err)
			s.did("reload with tls2:one\n")
			_, err = s.x.Rollback(context.Background(), executor.RollbackRequest{To: 0, CrossIrreversible: true}, nil,
				executor.Options{}, nil)
			s.must(err)
			if got := s.read("/etc/site"); got != "plain0\n" {
				t.Errorf("after the rollback the site is %q", got)
			}
		})
	}
}

// The machine is stopped behind each step, and goes on from there.
func TestPhasesGoOn(t *testing.T) {
	s := newSite(t).prepare()
	s.fails["gen"] = true
	if rep, err := s.apply(executor.Options{}); err == nil || len(rep.Runs) > 1 {
		t.Fatalf("gen failed, and: %+v %v", rep, err)
	}
	s.did(whole[:2]...)
	s.fails["gen"] = false
	_, err := s.apply(executor.Options{})
	s.must(err)
	s.did(whole[1:]...)

	s = newSite(t).prepare()
	s.fails["reload"] = true
	if _, err := s.apply(executor.Options{}); err == nil {
		t.Fatal("reload failed, and nobody said so")
	}
	s.did(whole[:1]...)
	s.fails["reload"] = false
	_, err = s.apply(executor.Options{})
	s.must(err)
	s.did(whole...)
}

// A lost certificate is made again with the last phase in force, and what it
// gives is taken in.
func TestPhasesAgain(t *testing.T) {
	s := newSite(t).prepare()
	_, err := s.apply(executor.Options{})
	s.must(err)
	s.must(s.h.Remove("/etc/cert"))
	s.serial = "two"
	_, err = s.apply(executor.Options{})
	s.must(err)
	s.did("gen with tls1:one\n", "reload with tls1:two\n")
	if got := s.read("/etc/site"); got != "tls1:two\n" {
		t.Errorf("the site is %q", got)
	}
}

// With undo, a second phase that fails takes the first one back too.
func TestPhasesUndone(t *testing.T) {
	s := newSite(t).prepare()
	s.fails["reload"] = false
	count := 0
	o := executor.Options{OnFailure: "undo"}
	s.trace = nil
	_, err := s.x.Apply(context.Background(), s.request(executor.Known{}), nil, o, func(e executor.Event) {
		if e.Kind == "start" && e.Addr == "act:run/reload" {
			if count++; count == 2 {
				s.fails["reload"] = true
			}
		}
		if e.Kind == "failed" {
			s.fails["reload"] = false
		}
	})
	if !errors.Is(err, executor.ErrUndone) {
		t.Fatalf("it ended with %v; did %q", err, s.trace)
	}
	if got := s.read("/etc/site"); got != "plain0\n" {
		t.Errorf("the site is %q", got)
	}
	st, err := s.x.Status(context.Background())
	s.must(err)
	if len(st.State.Entries) > 1 { // the command has no undo
		t.Errorf("still managed: %+v", st.State.Entries)
	}
}

// An armed apply that nobody confirms goes back with all its phases.
func TestPhasesNotConfirmed(t *testing.T) {
	s := newSite(t).prepare()
	_, err := s.apply(executor.Options{ConfirmWithin: time.Minute})
	s.must(err)
	s.did(whole...)
	s.now = s.now.Add(2 * time.Minute)
	_, err = s.x.Recover(context.Background(), executor.Options{}, nil)
	s.must(err)
	if got := s.read("/etc/site"); got != "plain0\n" {
		t.Errorf("the site is %q", got)
	}
}

// A command that gives nothing leaves its states waiting, and that is said.
func TestPhasesWait(t *testing.T) {
	s := newSite(t).prepare()
	s.stdout = true
	s.write("/etc/cert", "found") // its guard is satisfied, and nobody knows what it printed
	_, err := s.apply(executor.Options{})
	s.must(err)
	s.did(whole...)

	s = newSite(t).prepare()
	s.fails["gen"] = true
	s.write("/etc/cert", "found")
	_, err = s.apply(executor.Options{})
	s.must(err) // what the file holds is all that is asked for
	if got := s.read("/etc/site"); got != "tls1:found\n" {
		t.Errorf("the site is %q", got)
	}
}

// Two lists with phases by hand: what is between them runs once.
func TestPhasesByHand(t *testing.T) {
	s := newSite(t)
	list, ds := step.Parse("list",
		[]byte("LINK one /a\nEXEC between between\nLINK two /a phase=2\nLINK kept /b\nEXEC last last\nLINK three /a phase=3\n"))
	s.must(ds.Err())
	r := executor.Request{List: list, Repair: true, Revision: repo.Revision{Digest: "x"}}
	p, err := s.x.Plan(context.Background(), r)
	s.must(err)
	if p.Stage != 1 || p.Stages != 3 || len(p.Changes) != 2 || len(p.Later) != 4 {
		t.Errorf("stage %d of %d: %d changes, later %+v", p.Stage, p.Stages, len(p.Changes), p.Later)
	}
	rep, err := s.x.Apply(context.Background(), r, p, executor.Options{}, nil)
	s.must(err)
	s.did("between with nothing", "last with nothing")
	if len(rep.Runs) != 3 || rep.Changed != 6 {
		t.Errorf("reported %+v", rep)
	}
	if to, _ := s.h.Readlink("/a"); to != "three" {
		t.Errorf("/a is %q", to)
	}
	p, err = s.x.Plan(context.Background(), r)
	s.must(err)
	if !p.Empty() || p.Count()[plan.Adopt] > 0 {
		t.Errorf("once more: %+v", p.Changes)
	}
	drift, err := s.x.Drift(context.Background(), executor.DriftOptions{Verify: true})
	s.must(err)
	if len(drift.Changes) > 0 {
		t.Errorf("drift: %+v", drift.Changes)
	}
	runs, err := s.x.Runs(context.Background())
	s.must(err)
	for i, run := range runs {
		if run.Header.Continues != i || run.Header.Partial != (i < 2) || run.Outcome != journal.Succeeded {
			t.Errorf("run %d: %+v", i+1, run.Header)
		}
	}
}

// listed is a request of a list.
func (s *site) listed(text string) executor.Request {
	list, ds := step.Parse("list", []byte(text))
	s.must(ds.Err())
	return executor.Request{Repair: true, List: list, Revision: repo.Revision{Digest: list.Digest()}}
}

// TestExactPhases: an apply of a plan that was saved does what that tells of later
// phases too, and stops before one that would do more.
func TestExactPhases(t *testing.T) {
	const first = "EDIT /etc/cert line=ours create=true\n"
	const phases = first + "LINK one /etc/link\nEXEC gen gen\nLINK two /etc/link phase=2\n"
	for _, exact := range []bool{true, false} {
		s := newSite(t).prepare()
		_, err := s.x.Apply(t.Context(), s.listed(first), nil, executor.Options{}, nil)
		s.must(err)
		r := s.listed(phases)
		p, err := s.x.Plan(t.Context(), r)
		s.must(err)
		if len(p.Later) != 1 || p.Later[0].Addr != "file:/etc/link" {
			t.Fatalf("later: %+v", p.Later)
		}
		rep, err := s.x.Apply(t.Context(), r, p, executor.Options{Exact: exact}, nil) // gen takes the line away
		to, lerr := s.h.Readlink("/etc/link")
		s.must(lerr)
		if !exact && (err != nil || to != "two" || s.read("/etc/cert") != "oneours\n" &&
			s.read("/etc/cert") != "one\nours\n") {
			t.Errorf("%v, %+v, %s, %q", err, rep, to, s.read("/etc/cert"))
		}
		if exact && (!errors.Is(err, executor.ErrStale) ||
			!strings.Contains(err.Error(), "the next phase would also repair edit:/etc/cert") || to != "one" ||
			rep.Outcome != journal.Succeeded) {
			t.Errorf("%v, %+v, %s", err, rep, to)
		}
	}
	s := newSite(t).prepare()
	r := s.listed("LINK one /etc/link\nEXEC gen gen\nLINK two /etc/link phase=2\n")
	p, err := s.x.Plan(t.Context(), r)
	s.must(err)
	rep, err := s.x.Apply(t.Context(), r, p, executor.Options{Exact: true}, nil)
	if to, lerr := s.h.Readlink("/etc/link"); err != nil || lerr != nil || to != "two" || len(rep.Runs) != 2 {
		t.Errorf("%v, %+v, %s", err, rep, to)
	}
}

func stepOf(line string) step.Step {
	s, err := step.ParseLine(line)
	if err != nil {
		panic(err)
	}
	return s
}
