package hub

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/view"
)

// copyOf returns another host with a copy of the disk of an agent.
func (s *sim) copyOf(a *simAgent) *simAgent {
	b := newSimAgent(s, a.name, a.labels)
	b.host, b.id, b.boot = a.name+"-copy", a.id, 1000
	b.disk = a.disk.CrashClone(rand.New(rand.NewPCG(1, 1))).Counted(b.count)
	a.mu.Lock()
	b.stands = maps.Clone(a.stands)
	a.mu.Unlock()
	s.agents = append(s.agents, b)
	return b
}

// detail returns the hub's description of a target.
func (s *sim) detail(name string) document.TargetDetail {
	d, err := s.any().view.Target(context.Background(), name, time.Now())
	if err != nil {
		s.fault("%v", err)
	}
	return d
}

func (s *sim) wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// twoHosts returns a fleet with one ready target, whose host was copied and started twice.
func twoHosts(t *testing.T, s *sim) (one, two *simAgent) {
	s.site.commit("main", s.site.believed, simple("one"))
	one, err := s.enrol(map[string]string{"role": "web"})
	if err != nil {
		t.Fatal(err)
	}
	one.start()
	s.wait(10 * time.Minute)
	if d := s.detail(one.name); d.Target.State != document.Ready && d.Target.State != document.Unresponsive {
		t.Fatalf("before: %+v", d.Target)
	}
	two = s.copyOf(one)
	two.start()
	return one, two
}

// A running host is copied, and both hosts run at the same time: within a minute no hub trusts
// either of them. The target gets nothing new, and does not count as ready.
func TestACloneIsDetected(t *testing.T) {
	for _, hubs := range []int{1, 2} {
		inSim(t, hubs, func(s *sim) {
			one, _ := twoHosts(t, s)
			s.wait(time.Minute)
			d := s.detail(one.name)
			if d.Target.Suspect == nil || len(d.Target.Suspect.Copies) != 2 || d.Target.State != document.Cloned ||
				d.Modules[0].State == fleet.ModuleReady {
				t.Fatalf("%d hubs: %+v %+v %+v\n%s", hubs, d.Target, d.Target.Suspect, d.Modules, s.story())
			}
			hosts := map[string]bool{}
			for _, c := range d.Target.Suspect.Copies {
				hosts[c.Host] = true
			}
			if !hosts[one.name] || !hosts[one.name+"-copy"] {
				t.Errorf("the hosts are %+v", d.Target.Suspect.Copies)
			}
			distrusted(t, s, one)
		})
	}
}

// distrusted: a cloned target gets nothing, and there is an event and an alarm.
func distrusted(t *testing.T, s *sim, a *simAgent) {
	t.Helper()
	ctx, run := context.Background(), s.any()
	was := s.newest(a.id.ID)
	s.site.commit("main", s.site.believed, simple("two"))
	s.wait(2 * time.Minute)
	if now := s.newest(a.id.ID); now.Newer(was) != 0 {
		t.Errorf("it is assigned %v after %v", now.Number(), was.Number())
	}
	if _, err := run.executors.OpenExecutor(ctx, ann, a.id.ID, false); !errors.Is(err, fleet.ErrDenied) {
		t.Errorf("an executor: %v", err)
	}
	for word, body := range map[string]string{fleet.MessageContent: was.Root.Bundle.Digest,
		fleet.MessageExports: `{"values":[]}`, fleet.MessageRequest: `{"what":"freeze","because":"x"}`,
		fleet.MessageJobAnswer: "{}"} {
		answer := map[string]func(context.Context, fleet.TargetID, []byte) ([]byte, error){
			fleet.MessageContent: run.contents.OnContent, fleet.MessageExports: run.exports.OnExports,
			fleet.MessageRequest:   run.requests.OnRequest,
			fleet.MessageJobAnswer: run.jobs.OnAnswer}[word]
		if _, err := answer(ctx, a.id.ID, []byte(body)); !errors.Is(err, fleet.ErrDenied) {
			t.Errorf("%s: %v", word, err)
		}
	}
	if envelope, err := run.agents.OnAssignment(ctx, a.id.ID, []byte("{}")); err != nil || len(envelope) > 0 {
		t.Errorf("an assignment of %d bytes, %v", len(envelope), err)
	}
	r, err := run.jobs.CreateJob(ctx, ann, document.JobRequest{What: fleet.JobRun,
		Run: &fleet.Command{Argv: []string{"reboot"}}}, []fleet.TargetID{a.id.ID})
	s.wait(time.Minute)
	if got, _, _ := run.records.Jobs.Get(r.ID); err != nil || len(got.Pending) != 1 {
		t.Errorf("a command: %+v, %v", got, err)
	}
	alarms, err := run.notices.Alarms(ctx)
	if err != nil || len(alarms.Alarms) != 1 || alarms.Alarms[0].Kind != string(assign.Cloned) {
		t.Errorf("alarms: %+v, %v", alarms, err)
	}
	told := 0
	for _, e := range s.events(t) {
		if e.Kind == string(fleet.Suspected) {
			told++
		}
	}
	if told != 1 {
		t.Errorf("the log has %d events about it", told)
	}
}

func (s *sim) events(t *testing.T) []document.Event {
	page, err := s.any().view.Events(context.Background(), view.EventQuery{Limit: view.MaxPage})
	if err != nil {
		t.Fatal(err)
	}
	return page.Events
}

// An operator trusts the target again. If both hosts run, the clone is detected again within a
// minute. With one host, the target works as before and gets its pending jobs.
func TestTrustAClone(t *testing.T) {
	inSim(t, 2, func(s *sim) {
		one, two := twoHosts(t, s)
		s.wait(time.Minute)
		last := s.site.commit("main", s.site.believed, simple("two"))
		s.wait(time.Minute)
		for range 2 {
			if !s.trusts(t, one) {
				t.Fatalf("it is trusted: %+v\n%s", s.detail(one.name).Target, s.story())
			}
			s.wait(time.Minute)
		}
		one.stop()
		if !s.trusts(t, two) {
			t.Fatal("it is trusted before an operator decided")
		}
		s.wait(3 * time.Hour)
		if d := s.seen(one.name); d.Target.State != document.Ready || d.Target.Suspect != nil ||
			two.stands["modules/web"] != last.bundle("modules/web") || !two.ready {
			t.Errorf("after: %+v\n%v\n%s", d.Target, two.stands, s.story())
		}
	})
}

// trusts makes an operator trust a target, and reports whether it was cloned before.
func (s *sim) trusts(t *testing.T, a *simAgent) bool {
	was, _, _ := s.any().records.Targets.Get(string(a.id.ID))
	if err := s.any().targets.Trust(context.Background(), ann, a.id.ID, "one host is off"); err != nil {
		t.Fatal(err)
	}
	return was.Cloned()
}

// Hosts with one identity that never run at the same time are detected too. A host that is moved,
// or restored from a backup, is not a clone.
func TestCloneWithAlternatingHosts(t *testing.T) {
	inSim(t, 2, func(s *sim) {
		one, two := twoHosts(t, s)
		two.stop()
		turn := func(a *simAgent) {
			a.start()
			s.wait(5 * time.Minute)
			a.stop()
		}
		one.stop()
		turn(two)
		turn(two)
		if s.detail(one.name).Target.Suspect != nil {
			t.Fatalf("a host that was moved is a clone\n%s", s.story())
		}
		for range 3 {
			turn(one)
			turn(two)
		}
		if t2, _, _ := s.any().records.Targets.Get(string(one.id.ID)); !t2.Cloned() {
			t.Errorf("hosts that take turns are not detected\n%s", s.story())
		}
	})
}

// seen is detail at the hub with the connection to the target.
func (s *sim) seen(name string) (d document.TargetDetail) {
	for _, h := range s.hubs {
		d, _ = h.serving().view.Target(context.Background(), name, time.Now())
		if d.Target.Connected {
			break
		}
	}
	return d
}

// A restored host continues with old numbers of reports. Hubs have newer reports, and nevertheless
// show the present state of the host.
func TestARestoredHostReports(t *testing.T) {
	inSim(t, 2, func(s *sim) {
		s.site.commit("main", s.site.believed, simple("one"))
		a, err := s.enrol(map[string]string{"role": "web"})
		if err != nil {
			t.Fatal(err)
		}
		a.start()
		s.wait(10 * time.Minute)
		a.mu.Lock()
		backup, stood := a.disk.CrashClone(rand.New(rand.NewPCG(1, 1))), maps.Clone(a.stands)
		a.mu.Unlock()
		for i := range 5 {
			s.site.commit("main", s.site.believed, simple(fmt.Sprint("more ", i)))
			s.wait(10 * time.Minute)
		}
		a.crash()
		a.disk, a.stands, a.high = backup.Counted(a.count), stood, fleet.Have{}
		a.start()
		s.wait(time.Minute)
		last := s.site.commit("main", s.site.believed, simple("last"))
		s.wait(2 * time.Minute)
		d := s.seen(a.name)
		if d.Target.State != document.Ready || d.Target.Accepted != d.Target.Assigned ||
			a.stands["modules/web"] != last.bundle("modules/web") || d.Target.Suspect != nil {
			t.Errorf("%+v\n%s", d.Target, s.story())
		}
	})
}
