package machine_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/machine"
)

// checkKept: the durable state is on disk after each step, except for the number of the newest
// report, which the outbox has.
func (w *world) checkKept(e machine.Event) {
	if w.healing || w.disk == "" {
		return
	}
	if is := onDisk(w.m.StoredState); is != w.disk {
		w.fault("after %T this is not on the disk: %s\nbut this: %s", e, is, w.disk)
	}
}

// checkOrder: a step first writes to the disk, then appends reports, and then starts other actions.
func (w *world) checkOrder(actions []machine.Action) {
	rank := func(a machine.Action) int {
		switch a.(type) {
		case machine.Persist:
			return 0
		case machine.Append:
			return 1
		}
		return 2
	}
	if !slices.IsSortedFunc(actions, func(a, b machine.Action) int { return rank(a) - rank(b) }) {
		w.fault("after %T the order is %T", w.event, actions)
	}
}

// failedRun reports whether the event is the end of a failed run, which always writes the state.
func failedRun(e machine.Event) bool {
	r, ok := e.(machine.Ran)
	return ok && r.Outcome.Result != machine.Done && r.Outcome.Result != machine.Looked
}

func onDisk(k machine.StoredState) string {
	k.Seq = 0
	b, err := json.Marshal(k)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func (w *world) states() string {
	var out []string
	for _, s := range w.m.Status().Modules {
		text := strings.TrimPrefix(s.Module, "modules/") + " " + string(s.State)
		if s.Waits != "" {
			text += " (" + s.Waits + ")"
		}
		if s.Error != "" {
			text += " error: " + s.Error
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

// sleeps advances the clock until just before the requested wake-up: no timer may be due
// before. A module that waits for a time of day is checked once a minute, so it can be late.
func (w *world) sleeps() {
	d := w.wake - time.Millisecond // the shortest wake-up time
	if a := w.kept.Accepted; a != nil && slices.ContainsFunc(append(slices.Clone(a.Modules), a.Root),
		func(as fleet.Assigned) bool { return as.NotBefore > 0 }) {
		return
	}
	if d <= 0 {
		return
	}
	before, boot := len(w.did), w.boot
	w.elapse(d)
	for _, a := range w.did[before:] {
		if _, ok := a.(machine.Wake); !ok && w.boot == boot {
			w.fault("it asked to be woken in %s, and does %T before", d+time.Millisecond, a)
		}
	}
}

// restless wakes the machine at each requested time, and fails if it wakes repeatedly without an action.
func (w *world) restless() {
	for range 5 {
		before := len(w.did)
		w.elapse(w.wake)
		if len(w.did) > before+1 || w.wake >= time.Second {
			return
		}
	}
	w.fault("it is woken every %s and does nothing", w.wake)
}

// did reports whether the machine returned an action of a type since the last call.
func did[T machine.Action](w *world) bool {
	found := slices.ContainsFunc(w.did, func(a machine.Action) bool { _, ok := a.(T); return ok })
	w.did = nil
	return found
}

// TestTriesThatFail: the time before a repetition doubles up to a limit, and is at most half of it
// shorter. The machine wakes for it, and starts from the first time after a success.
func TestTriesThatFail(t *testing.T) {
	up := func(w *world) { w.up = true; w.step(machine.Link{Up: true}) }
	for what, c := range map[string]struct {
		first, most time.Duration
		begin       func(w *world)
		try         func(w *world) bool
		end         func(w *world, err string)
	}{
		"fetch": {5 * time.Second, 5 * time.Minute, func(w *world) { w.step(machine.Offered{Assignment: assignment(1)}) },
			did[machine.Fetch],
			func(w *world, err string) { w.endFetch(err, false) }},
		"ask": {5 * time.Second, 5 * time.Minute, up, did[machine.Ask],
			func(w *world, err string) { w.step(machine.Answered{Error: err}) }},
		"send": {time.Second, 5 * time.Minute, up, did[machine.Send], func(w *world, err string) {
			seq := w.send
			w.send = 0
			w.step(machine.Acked{Seq: seq, Error: err})
		}},
		"publish": {time.Second, 5 * time.Minute, func(w *world) {
			w.offer(assignment(1, "modules/web=1"))
			w.endRun(machine.Outcome{Result: machine.Done, Exports: own("a")})
			w.did = nil
			up(w)
		}, did[machine.Publish], func(w *world, err string) { w.step(machine.Published{Error: err}) }},
		"inform": {2 * time.Second, 5 * time.Minute, func(w *world) {
			w.step(job("j", false))
			w.endAct(false)
			up(w)
		}, did[machine.SendJobAnswer], func(w *world, err string) { w.inform(err) }},
		"renew": {time.Minute, time.Hour, func(w *world) {
			up(w)
			w.step(machine.Certificate{From: 1, Until: 2})
		}, did[machine.Renew], func(w *world, err string) { w.step(machine.Renewed{Error: err}) }},
		"renew without a hub": {time.Minute, 5 * time.Minute,
			func(w *world) { w.step(machine.Certificate{From: 1, Until: 2}) }, did[machine.Renew],
			func(w *world, err string) { w.step(machine.Renewed{Error: err}) }},
		"prepare": {5 * time.Second, 5 * time.Minute, func(w *world) {
			w.cfg.Binary.Arch = "amd64"
			w.start()
			up(w)
			w.step(machine.Offered{Assignment: binaryConfig(1, "2")})
		}, did[machine.Prepare], func(w *world, err string) {
			w.step(machine.Prepared{Digest: bundle("fettle", "2").Digest, Version: "2", Error: err})
		}},
	} {
		w := newWorld()
		c.begin(w)
		if !c.try(w) {
			t.Errorf("%s: there is no first try", what)
			continue
		}
		want := c.first
		for n := 1; n <= 80; n++ { // enough to overflow a duration
			c.end(w, "no hub answers")
			w.did = nil
			failed, tried := w.now.Mono, false
			for rounds := 0; !tried && rounds < 1000; rounds++ {
				w.elapse(w.wake)
				tried = c.try(w)
			}
			if after := w.now.Mono - failed; !tried || after < want/2 || after > want+time.Millisecond {
				t.Errorf("%s: try %d comes after %s, want %s to %s", what, n+1, after, want/2, want)
				break
			}
			want = min(2*want, c.most)
		}
	}
}

// TestHowOftenItLooks: each periodic action has its configured interval, plus or minus a fifth, and
// targets do not act at the same time.
func TestHowOftenItLooks(t *testing.T) {
	up := func(w *world) { w.step(machine.Link{Up: true}) }
	runs := func(w *world, full bool) bool {
		found := w.run != nil && (w.run.Full || !full)
		if w.run != nil {
			w.endRun(machine.Outcome{Result: machine.Done, Run: 1})
		}
		return found
	}
	for what, c := range map[string]struct {
		every time.Duration
		begin func(w *world)
		again func(w *world) bool
	}{
		"sweep": {30 * time.Minute, func(*world) {}, func(w *world) bool { return runs(w, false) }},
		"sweep of blind": {5 * time.Minute, func(w *world) { w.step(machine.Watched{Why: "too many files"}) },
			func(w *world) bool { return runs(w, false) }},
		"full": {24 * time.Hour, func(*world) {}, func(w *world) bool { return runs(w, true) }},
		"beat": {30 * time.Second, up, did[machine.Beat]},
		"poll": {5 * time.Minute, up, func(w *world) bool {
			asked := did[machine.Ask](w)
			if asked {
				w.step(machine.Answered{})
			}
			return asked
		}},
	} {
		early := 0
		for i := range 40 {
			w := newWorld()
			w.boot = 100 * i // different targets have different times
			w.start()
			w.offer(assignment(1, "modules/a=1"))
			w.endRun(machine.Outcome{Result: machine.Done, Run: 1})
			c.begin(w)
			var d time.Duration
			for range 2 { // the first is immediate, or after the start of the process
				since := w.now.Mono
				for rounds := 0; !c.again(w); rounds++ {
					if w.elapse(w.wake); rounds > 10_000 {
						t.Fatalf("%s: it does not come", what)
					}
				}
				d = w.now.Mono - since
			}
			if d < c.every-c.every/5 || d > c.every+c.every/5+time.Millisecond {
				t.Errorf("%s: again after %s, want about %s", what, d, c.every)
			}
			if d < c.every {
				early++
			}
		}
		if early < 8 || early > 32 {
			t.Errorf("%s: %d of 40 targets are early", what, early)
		}
	}
}

// TestWhatTheMachineRemembers: rules about the state of an earlier process.
func TestWhatTheMachineRemembers(t *testing.T) {
	reports := func(m *machine.Machine, e machine.Event) (seqs []uint64, sent []uint64) {
		for _, a := range m.Step(e, machine.Now{Wall: 1}) {
			switch a := a.(type) {
			case machine.Append:
				seqs = append(seqs, a.Report.Seq)
			case machine.Send:
				sent = append(sent, a.Seq)
			}
		}
		return seqs, sent
	}
	for what, c := range map[string]struct {
		kept          uint64
		newest, acked uint64
		first, sent   uint64 // numbers of the next report and of the first report to send
	}{
		"nothing":              {0, 0, 0, 1, 1},
		"an outbox that went":  {7, 0, 0, 8, 8},
		"one that is ahead":    {7, 9, 4, 10, 5},
		"one that is all told": {7, 7, 7, 8, 8},
	} {
		m := machine.New(machine.Config{Target: target}, machine.StoredState{Seq: c.kept}, c.newest, c.acked)
		seqs, _ := reports(m, machine.Started{})
		_, sent := reports(m, machine.Link{Up: true})
		if fmt.Sprint(seqs, sent) != fmt.Sprint([]uint64{c.first}, []uint64{c.sent}) {
			t.Errorf("%s: the report %v, and %v is sent", what, seqs, sent)
		}
	}
	// The applied composition is maintained even if nothing is assigned.
	a := assignment(1, "modules/a=1")
	m := machine.New(machine.Config{Target: target}, machine.StoredState{Applied: &a}, 0, 0)
	found := false
	for _, job := range m.Step(machine.Started{}, machine.Now{Wall: 1}) {
		r, ok := job.(machine.Run)
		found = found || ok && r.Cause == machine.Start && len(r.Want.Modules) == 1
	}
	if !found {
		t.Error("what stands is not looked at")
	}
}

// TestTriesThatEndTheProcess: a composition during which the process ended more than once does not
// start again immediately.
func TestTriesThatEndTheProcess(t *testing.T) {
	w := newWorld()
	w.offer(assignment(1, "modules/a=1"))
	for tries, atOnce := range []bool{true, false, false} {
		w.start()
		w.fetchAll()
		if (w.run != nil) != atOnce {
			t.Errorf("after %d ends: %s", tries+1, inRun(w))
		}
		if w.run == nil {
			w.elapse(5 * time.Minute)
		}
		if w.run == nil {
			t.Fatalf("after %d ends it is not tried any more", tries+1)
		}
	}
}

// TestCancelledJobs: a cancelled job that has not begun ends, and the hub gets this result. A job
// that has begun or ended does not change.
func TestCancelledJobs(t *testing.T) {
	withdraw := func(w *world, id string) {
		w.step(machine.JobReceived{Job: fleet.Job{ID: id + ".w", What: fleet.JobCancel, Arg: id}})
	}
	w := newWorld()
	w.step(job("first", false))
	w.step(job("second", false))
	withdraw(w, "first")
	withdraw(w, "second")
	withdraw(w, "unknown")
	if all := w.durable().AcceptedJobs; all[0].Answer != nil || all[1].Answer == nil || !all[1].Answer.Cancelled ||
		all[1].Answer.ID != "second" {
		t.Fatalf("%+v", all)
	}
	w.endAct(false)
	if w.act != nil {
		t.Error("a job that was withdrawn begins")
	}
	w.up = true
	w.step(machine.Link{Up: true})
	w.inform("")
	w.inform("")
	if w.ended["first"].Cancelled || !w.ended["second"].Cancelled || len(w.durable().AcceptedJobs) > 0 {
		t.Errorf("%+v, %+v", w.ended, w.durable().AcceptedJobs)
	}
	w.step(job("locked", false))
	for w.act != nil {
		w.endAct(true)
		w.elapse(time.Minute)
	}
	withdraw(w, "locked")
	if d := w.durable().AcceptedJobs[0].Answer; d == nil || d.Cancelled {
		t.Errorf("a job that was given up is withdrawn: %+v", d)
	}
	w.step(machine.JobEnded{Answer: fleet.JobAnswer{ID: "unknown"}})
	if len(w.wrong) > 0 {
		t.Error(w.wrong)
	}
}

// TestReportsAreSmall: the total size of texts in a report is limited for any number of modules.
func TestReportsAreSmall(t *testing.T) {
	for n, most := range map[int]int{1: 1024, 63: 1024, 64: 1008, 127: 512, 1023: 64} {
		w := newWorld()
		var modules []string
		parts := map[string]machine.Part{}
		for i := range n {
			name := fmt.Sprintf("modules/m%d", i)
			modules = append(modules, name+"=1")
			parts[name] = machine.Part{Error: strings.Repeat("x", 5000)}
		}
		w.offer(assignment(1, modules...))
		w.endRun(machine.Outcome{Result: machine.CheckFailed, Run: 1, Parts: parts})
		for _, s := range w.m.Status().Modules {
			if len(s.Error) != most+len("…") {
				t.Errorf("with %d modules an error has %d bytes, want %d", n, len(s.Error), most)
				break
			}
		}
	}
}
