package hub

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/member"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// link is a second program with the identity of an agent, which sends arbitrary messages.
func (a *simAgent) link(ctx context.Context) *bus.Link {
	return bus.NewLink(ctx, a.id.ID, func(context.Context) (bus.Connection, <-chan struct{},
		error) {
		return a.sim.hubs[0].connect(a.id)
	}, bus.Backoff{})
}

// A revoked agent is disconnected within five seconds, and then gets no assignment, no content and
// no certificate.
func TestRevokedAgent(t *testing.T) {
	inSim(t, 1, func(s *sim) {
		s.site.commit("main", s.site.believed, simple("one"))
		s.populate(t, 2)
		out, run := s.agents[0], s.any()
		began := time.Now()
		if err := run.targets.Revoke(context.Background(), ann, out.id.ID, "it was stolen"); err != nil {
			t.Fatal(err)
		}
		for synctest.Wait(); len(run.exchange.Connected()) != 1; synctest.Wait() {
			time.Sleep(100 * time.Millisecond)
			if time.Since(began) > 5*time.Second {
				t.Fatalf("it is connected still after %s", time.Since(began))
			}
		}
		out.mu.Lock()
		out.revoked = began
		out.mu.Unlock()
		if _, err := out.client().Renew(context.Background(), nil); err == nil {
			t.Error("its certificate is renewed")
		}
		two := s.site.commit("main", s.site.believed, simple("two"))
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := s.become(two); n != 1 {
			t.Errorf("%d machines are what came after", n)
		}
		if err := out.fetch(context.Background(), s.newest(s.agents[1].id.ID)); err == nil {
			t.Error("it gets content")
		}
	})
}

// fetch fetches the content of an assignment into a new store, as the host.
func (a *simAgent) fetch(ctx context.Context, as fleet.Assignment) error {
	m, err := member.Open(member.Config{Files: a.disk, Dir: "/agent", Now: a.now, Dial: a.dial})
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	return m.Fetch(ctx, as)
}

// A target gets the content of its assignment, and cannot find content of other assignments.
func TestContentOfOthers(t *testing.T) {
	inSim(t, 1, func(s *sim) {
		s.site.commit("main", s.site.believed, simple("one"))
		web, err := s.enrol(map[string]string{"role": "web"})
		db, err2 := s.enrol(map[string]string{"role": "db"})
		if err = errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		for _, c := range []struct {
			who, whose *simAgent
			may        bool
		}{{web, web, true}, {db, web, false}, {web, db, false}, {db, db, true}} {
			if err := c.who.fetch(context.Background(), s.newest(c.whose.id.ID)); (err == nil) != c.may {
				t.Errorf("%s asks for what %s is assigned: %v", c.who.name, c.whose.name, err)
			}
		}
	})
}

// A certificate expires during a run while no hub can renew it: the host completes the run, and
// reconnects when a hub is running.
func TestCertificateEndsInARun(t *testing.T) {
	inSim(t, 1, func(s *sim) {
		s.site.commit("main", s.site.believed, simple("one"))
		s.populate(t, 1)
		a := s.agents[0]
		a.mu.Lock()
		a.slow = 30 * time.Hour
		a.mu.Unlock()
		two := s.site.commit("main", s.site.believed, simple("two"))
		time.Sleep(time.Minute)
		s.hubs[0].stop()
		time.Sleep(29 * time.Hour)
		if s.become(two) != 0 {
			t.Fatal("the run is over already")
		}
		a.mu.Lock()
		a.slow = 0
		a.mu.Unlock()
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		a.mu.Lock()
		ended := a.stands["modules/base"] == two.bundle("modules/base")
		a.mu.Unlock()
		if !ended {
			t.Errorf("it did not end what it began: %+v", a.status)
		}
		s.hubs[0].start()
		s.within(t, 10*time.Minute, "after the hub was back")
	})
}

// Messages of an agent only affect itself. Reports of other targets, reports from the future,
// invented numbers and unsigned generations change nothing for other targets.
func TestAgentWithFalseReports(t *testing.T) {
	inSim(t, 1, func(s *sim) {
		s.site.commit("main", s.site.believed, simple("one"))
		s.populate(t, 2)
		liar, good := s.agents[0], s.agents[1]
		liar.crash()
		ctx, stop := context.WithCancel(context.Background())
		l := liar.link(ctx)
		defer func() { stop(); _ = l.Close() }()
		time.Sleep(time.Minute)
		synctest.Wait()
		run := s.any()
		epoch, _, _ := run.records.Epochs.Get(records.EpochKey)
		report := func(change func(*fleet.Report)) error {
			r := fleet.Report{Format: fleet.ReportFormat, Target: liar.id.ID, Seq: 1000, Boot: "b", At: time.Now().UnixNano(),
				Event: fleet.Event{Kind: fleet.Ready}}
			change(&r)
			b, err := json.Marshal(r)
			if err == nil {
				_, err = l.Ask(ctx, fleet.MessageReport, b)
			}
			return err
		}
		for what, change := range map[string]func(*fleet.Report){
			"another's":   func(r *fleet.Report) { r.Target = good.id.ID },
			"too large":   func(r *fleet.Report) { r.Event.Text = strings.Repeat("x", fleet.MaxReport) },
			"of nowhere":  func(r *fleet.Report) { r.Seq = 0 },
			"a part":      func(r *fleet.Report) { r.Since = 999 },
			"of a format": func(r *fleet.Report) { r.Format = "fettle.report/2" },
		} {
			if report(change) == nil {
				t.Errorf("a report that is %s is taken", what)
			}
		}
		if err := report(func(r *fleet.Report) {
			r.At, r.Seq, r.Status.Epoch, r.Status.Generation = math.MaxInt64, math.MaxInt64, math.MaxUint64, math.MaxUint64
			r.Event.Text = "<script>alert(1)</script>"
		}); err != nil {
			t.Errorf("a report of the end of time: %v", err)
		}
		_ = l.Serve(fleet.MessageShow, func(context.Context, []byte) ([]byte, error) {
			b, err := fleet.Sign(fleet.Assignment{Format: fleet.AssignmentFormat, Target: liar.id.ID, Epoch: math.MaxUint64,
				Generation: 1}.Marshal(), fleet.AssignmentType, ownKey())
			return b, err
		})
		have, _ := json.Marshal(fleet.Have{Epoch: math.MaxUint64, Generation: math.MaxUint64})
		if _, err := l.Ask(ctx, fleet.MessageAssignment, have); err != nil {
			t.Error(err)
		}
		s.site.commit("main", s.site.believed, simple("two"))
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if now, _, _ := run.records.Epochs.Get(records.EpochKey); now.Number != epoch.Number {
			t.Errorf("the epoch of all went from %d to %d", epoch.Number, now.Number)
		}
		d, err := run.view.Target(ctx, good.name, time.Now())
		if err != nil || d.Target.State != document.Ready || s.newest(good.id.ID).Epoch != epoch.Number {
			t.Errorf("the other one: %+v, %v", d.Target, err)
		}
	})
}

// A hub uses a new field that an agent does not support. The agent refuses the whole assignment
// before it changes anything, and reports this.
func TestHubWithANewField(t *testing.T) {
	inSim(t, 1, func(s *sim) {
		one := s.site.commit("main", s.site.believed, simple("one"))
		s.populate(t, 1)
		a, run := s.agents[0], s.any()
		next := s.newest(a.id.ID)
		next.Generation += 5
		text := strings.Replace(string(next.Marshal()), `{"format"`, `{"canary":{"percent":1},"format"`, 1)
		envelope, err := fleet.Sign([]byte(text), fleet.AssignmentType, run.keys.SigningKey())
		if err != nil {
			t.Fatal(err)
		}
		if err := run.exchange.Tell(a.id.ID, fleet.MessageAssigned, envelope); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		a.mu.Lock()
		took := a.high.Generation
		a.mu.Unlock()
		if took >= next.Generation || s.become(one) != 1 {
			t.Errorf("it took generation %d, and stands %v", took, a.stands)
		}
		refused := false
		for _, r := range s.kept.log.Records() {
			refused = refused || strings.Contains(string(r), `"kind":"refused"`) && strings.Contains(string(r), "canary")
		}
		if !refused {
			t.Error("nobody was told")
		}
	})
}

// ownKey returns a signing key without a certificate.
func ownKey() ed25519.PrivateKey {
	_, k, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	return k
}
