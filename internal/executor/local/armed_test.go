package local_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/local"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/step"
)

// TestLockOutIsArmed: a run that may lock somebody out waits for a confirmation,
// another does not; its checks confirm it where they may.
func TestLockOutIsArmed(t *testing.T) {
	const good, bad = "CHECK c file=/etc/ssh/sshd_config within=1s\n", "CHECK c file=/none within=1ms\n"
	always, checks := executor.Options{LockOut: time.Minute}, executor.Options{LockOut: time.Minute, ChecksConfirm: true}
	for _, c := range []struct {
		name, list string
		o          executor.Options
		end        string
	}{
		{"other", "COPY a /etc/motd\n", always, "stays"},
		{"off", "COPY a /etc/ssh/sshd_config\n", executor.Options{}, "stays"},
		{"armed", "COPY a /etc/ssh/sshd_config\n", always, "waits"},
		{"armed with a check", "COPY a /etc/ssh/sshd_config\n" + good, always, "waits"},
		{"checks hold", "COPY a /etc/ssh/sshd_config\n" + good, checks, "stays"},
		{"a check fails", "COPY a /etc/ssh/sshd_config\n" + good + strings.Replace(bad, "c ", "d ", 1), checks, "back"},
		{"no check", "COPY a /etc/ssh/sshd_config\n", checks, "waits"},
		{"other, a check fails", "COPY a /etc/motd\n" + bad, checks, "stays"},
		{"longer", "COPY a /etc/ssh/sshd_config\n", executor.Options{LockOut: time.Second, ConfirmWithin: time.Minute},
			"waits"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMachine(t)
			m.write("/etc/motd", "old")
			m.write("/etc/ssh/sshd_config", "old")
			path := strings.Fields(c.list)[2]
			rep, err := m.x.Apply(context.Background(), m.request(c.list, map[string]string{"a": "new"}), nil, c.o, nil)
			if rep == nil || (err != nil) != strings.Contains(c.name, "fails") ||
				errors.Is(err, executor.ErrUndone) != (c.end == "back") {
				t.Fatalf("%v %+v", err, rep)
			}
			if (rep.ConfirmBy != 0) != (c.end == "waits") ||
				m.guarded.IsZero() == (c.name != "other" && c.o.LockOut > 0 && path != "/etc/motd") {
				t.Errorf("confirm by %d, guarded at %s", rep.ConfirmBy, m.guarded)
			}
			if c.end != "back" {
				m.want(path, "new")
			}
			m.clock = m.clock.Add(59 * time.Second)
			m.recover()
			if c.end != "back" {
				m.want(path, "new")
			}
			m.clock = m.clock.Add(2 * time.Minute)
			m.recover()
			m.want(path, map[bool]string{true: "new", false: "old"}[c.end == "stays"])
		})
	}
}

func (m *machine) recover() {
	m.t.Helper()
	_, err := m.x.Recover(context.Background(), executor.Options{}, nil)
	m.must(err)
}

// TestLockOutInALaterPhase: all phases of an apply go back, whichever of them may
// lock somebody out, whether or not that was known before.
func TestLockOutInALaterPhase(t *testing.T) {
	for _, known := range []bool{true, false} {
		s := newSite(t)
		for _, dir := range []string{"/etc", "/etc/ssh"} {
			s.must(s.h.Mkdir(dir, 0o755))
		}
		const first = "LINK one /a\n"
		request := func(text string) executor.Request {
			list, ds := step.Parse("list", []byte(text))
			s.must(ds.Err())
			return executor.Request{List: list, Repair: true, Revision: repo.Revision{Digest: "x"}}
		}
		r := request(first + "LINK two /a phase=2\nLINK x /etc/ssh/sshd_config\n")
		if !known {
			const gen = "EXEC gen gen output=stdout undo=true\n"
			r = request(first + gen)
			r.Outputs = []executor.OutputRef{{Addr: "exec:gen", Step: r.List[1].Stored()}}
			r.Deferred = []executor.Deferred{{ID: "file.x", Source: "fettle.hcl:3"}}
			r.Next = func(known executor.Known) (executor.Request, error) {
				next := request(first + gen)
				if _, ok := known["exec:gen"]; ok {
					next = request(first + gen + "LINK x /etc/ssh/sshd_config\n")
				} else {
					next.Deferred = r.Deferred
				}
				next.Outputs, next.Next, next.Known = r.Outputs, r.Next, known
				return next, nil
			}
		}
		rep, err := s.x.Apply(context.Background(), r, nil, executor.Options{LockOut: time.Minute}, nil)
		s.must(err)
		if rep.ConfirmBy == 0 || len(rep.Runs) != 2 {
			t.Errorf("known %t: %+v", known, rep)
		}
		s.now = s.now.Add(2 * time.Minute)
		_, err = s.x.Recover(context.Background(), executor.Options{}, nil)
		s.must(err)
		for _, p := range []string{"/a", "/etc/ssh/sshd_config"} {
			if to, err := s.h.Readlink(p); err == nil {
				t.Errorf("known %t: %s is still a link to %s", known, p, to)
			}
		}
	}
}

// TestNothingChangedIsNotArmed: a run that failed and changed nothing does not wait to be
// confirmed, so that the next one can begin; one that changed something does.
func TestNothingChangedIsNotArmed(t *testing.T) {
	for list, armed := range map[string]bool{"WAIT w file=/none timeout=1ms\nMKDIR /b\n": false,
		"MKDIR /a\nWAIT w file=/none timeout=1ms\n": true, "EXEC e false\n": true} {
		w := newWorld(t)
		w.x = asked(t, w.guarded())
		rep, err := w.x.Apply(context.Background(), request(t, list), nil, executor.Options{ConfirmWithin: time.Minute}, nil)
		if err == nil || rep == nil || (rep.ConfirmBy != 0) != armed {
			t.Fatalf("%q: %v %+v", list, err, rep)
		}
		c, err := w.x.Condition(context.Background())
		if w.must(err); (c.Armed != nil) != armed {
			t.Errorf("%q: armed %+v", list, c.Armed)
		}
		_, err = w.x.Apply(context.Background(), request(t, "MKDIR /a\n"), nil, executor.Options{}, nil)
		if (err != nil) != armed {
			t.Errorf("%q: the next run: %v", list, err)
		}
	}
}

// guarded is an engine that can arm runs.
func (w *world) guarded() *local.Executor {
	x, err := local.New(w.h, w.state, local.Options{Now: time.Now, Ballast: -1,
		Guard: func(context.Context, time.Time) error { return nil }})
	w.must(err)
	return x
}
