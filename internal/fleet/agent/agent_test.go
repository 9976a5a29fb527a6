package agent_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/step"
)

// An agent applies its assignment, repairs drift, works without hubs, and continues after a
// restart.
func TestAgent(t *testing.T) {
	n := newNode(t)
	n.hub.assign(1, top, n.hub.part("modules/base", motd("one\n")), n.hub.part("modules/web", issue("web\n")))
	n.start()
	n.hub.connect(true)
	r := n.hub.heard(t, "ready", isReady)
	if n.read("/etc/motd") != "one\n" || n.read("/etc/issue") != "web\n" || len(r.Status.Modules) != 2 ||
		r.Status.Modules[0].State != fleet.ModuleReady {
		t.Fatalf("%q, %+v", n.read("/etc/motd"), r.Status)
	}
	n.write("/etc/motd", "foreign\n")
	n.poke <- struct{}{}
	r = n.hub.heard(t, "drift", kind(fleet.Drifted))
	if r.Event.Module != "modules/base" || r.Status.Drift != 1 {
		t.Errorf("%+v", r)
	}
	r = n.hub.heard(t, "repair", kind(fleet.Repaired))
	if d, ok := r.Event.RunTime(); !ok {
		t.Errorf("a run without a run time: %+v, %v", r.Event, d)
	}
	if n.read("/etc/motd") != "one\n" {
		t.Errorf("not repaired: %q", n.read("/etc/motd"))
	}
	n.hub.connect(false)
	n.stop()
	n.write("/etc/issue", "foreign\n")
	n.start() // without a hub
	for n.read("/etc/issue") != "web\n" {
		n.poke <- struct{}{}
	}
	n.hub.assign(2, top, n.hub.part("modules/base", motd("two\n")), n.hub.part("modules/web", issue("web\n")))
	n.hub.connect(true)
	n.hub.heard(t, "the second", func(r fleet.Report) bool { return isReady(r) && r.Status.Generation == 2 })
	if n.read("/etc/motd") != "two\n" {
		t.Errorf("%q", n.read("/etc/motd"))
	}
}

// A needed module is applied first, and a failure is reported for its module.
func TestModules(t *testing.T) {
	n := newNode(t)
	web := n.hub.part("modules/web", issue("web\n"))
	web.Needs = []fleet.Need{{Module: "modules/base", Level: fleet.Available}}
	bad := map[string]string{"module.hcl": "exec \"x\" { command = [\"/bin/false\"] }\n"}
	n.hub.assign(1, top, n.hub.part("modules/base", bad), web)
	n.start()
	n.hub.connect(true)
	r := n.hub.heard(t, "waiting", kind(fleet.Waiting))
	if r.Event.Module != "modules/web" || !strings.Contains(r.Event.Text, "modules/base is not applied yet") {
		t.Errorf("%+v", r.Event)
	}
	r = n.hub.heard(t, "failure", kind(fleet.Failed))
	if r.Event.Module != "modules/base" || n.read("/etc/issue") != "" {
		t.Errorf("%+v %q", r.Event, n.read("/etc/issue"))
	}
	push := n.hub.assign(2, top, n.hub.part("modules/base", motd("fine\n")), web)
	if _, err := n.hub.handler(fleet.MessageAssigned)(context.Background(), push); err != nil {
		t.Fatal(err)
	}
	n.hub.heard(t, "ready", isReady)
	if n.read("/etc/issue") != "web\n" {
		t.Error("the second module did not come")
	}
}

// A failing module does not prevent other modules from being applied.
func TestAModuleFailsForItself(t *testing.T) {
	n := newNode(t)
	bad := n.hub.part("modules/base",
		map[string]string{"module.hcl": "exec \"x\" { command = [\"/bin/false\"] }\nfile \"/etc/after\" {\n  content = \"x\"\n  after = [exec.x]\n}\n"})
	n.hub.assign(1, top, bad, n.hub.part("modules/web", issue("web\n")))
	n.start()
	n.hub.connect(true)
	r := n.hub.heard(t, "failure", kind(fleet.Failed))
	if r.Event.Module != "modules/base" || n.read("/etc/issue") != "web\n" || n.read("/etc/after") != "" {
		t.Errorf("%+v %q", r.Event, n.read("/etc/issue"))
	}
	states := map[string]fleet.Readiness{}
	for _, m := range r.Status.Modules {
		states[m.Module] = m.State
	}
	if states["modules/web"] != fleet.ModuleReady || states["modules/base"] == fleet.ModuleReady {
		t.Errorf("%v", states)
	}
}

// A repository that does not compile changes nothing, and unsigned content is refused.
func TestWhatIsWrongIsNotTaken(t *testing.T) {
	n := newNode(t)
	base := n.hub.part("modules/base", motd("one\n"))
	n.hub.assign(1, top, base, n.hub.part("modules/web", issue("web\n")))
	n.start()
	n.hub.connect(true)
	n.hub.heard(t, "ready", isReady)
	push := func(b []byte) { _, _ = n.hub.handler(fleet.MessageAssigned)(context.Background(), b) }
	push(n.hub.assign(2, top, base, n.hub.part("modules/web", map[string]string{"module.hcl": "file {"})))
	r := n.hub.heard(t, "failure", kind(fleet.Failed))
	if r.Event.Module != "modules/web" || !strings.Contains(r.Event.Error, "modules/web/module.hcl") {
		t.Errorf("%+v", r.Event)
	}
	unsigned := n.hub.part("modules/web", issue("evil\n"))
	unsigned.Revision.Subject = "unsigned"
	push(n.hub.assign(3, top, base, unsigned))
	n.hub.heard(t, "refusal", kind(fleet.Refused))
	push([]byte("{}"))
	n.hub.heard(t, "forgery", kind(fleet.Refused))
	if n.read("/etc/issue") != "web\n" {
		t.Errorf("%q", n.read("/etc/issue"))
	}
}

func TestJobs(t *testing.T) {
	n := newNode(t)
	n.hub.assign(1, top, n.hub.part("modules/base", motd("one\n")), n.hub.part("modules/web", issue("web\n")))
	n.start()
	n.hub.connect(true)
	n.hub.heard(t, "ready", isReady)
	job := func(id, what string) fleet.JobAnswer {
		body, _ := json.Marshal(fleet.Job{ID: id, What: what, By: "ada"})
		answer, err := n.hub.handler(fleet.MessageJob)(context.Background(), body)
		var d fleet.JobAnswer
		if err = errorsOf(err, json.Unmarshal(answer, &d)); err != nil {
			t.Fatal(err)
		}
		return d
	}
	for range 2 {
		if d := job("1", "report"); d.ID != "1" || d.Error != "" {
			t.Errorf("%+v", d)
		}
	}
	n.hub.heard(t, "a report", kind(fleet.ReportRequested))
	if d := job("2", "dance"); d.Error == "" {
		t.Error("it dances")
	}
	n.write("/etc/motd", "foreign\n")
	job("3", "verify")
	n.hub.heard(t, "repair", kind(fleet.Repaired))
	shown, err := n.hub.handler(fleet.MessageShow)(context.Background(), nil)
	if err != nil || string(shown) != string(n.hub.newest) {
		t.Errorf("%v, it shows %.80s", err, shown)
	}
}

// The drift policy is followed.
func TestDriftIsReportedOnly(t *testing.T) {
	n := newNode(t)
	n.hub.assign(1, with(top, "policy { drift = \"report\" }\n"), n.hub.part("modules/base", motd("one\n")),
		n.hub.part("modules/web", issue("web\n")))
	n.start()
	n.hub.connect(true)
	n.hub.heard(t, "ready", isReady)
	n.write("/etc/motd", "foreign\n")
	n.poke <- struct{}{}
	r := n.hub.heard(t, "drift", kind(fleet.Drifted))
	if r.Status.Drift != 1 || r.Status.Modules[0].State != fleet.ModuleDrifted || n.read("/etc/motd") != "foreign\n" {
		t.Errorf("%+v, %q", r.Status, n.read("/etc/motd"))
	}
}

func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// An agent does not replace the configuration of another repository or target. It reports this and
// waits, unless it was enrolled to adopt the host.
func TestAnotherOwner(t *testing.T) {
	n := newNode(t)
	list, ds := step.Parse("list", []byte("MKDIR /etc/first\n"))
	if err := ds.Err(); err != nil {
		t.Fatal(err)
	}
	x, _, err := n.engine(context.Background())
	if err == nil {
		_, err = x.Apply(context.Background(), executor.Request{Target: "local", Repository: repo.Identity{Root: "c0ffee"},
			List: list}, nil, executor.Options{}, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	n.hub.assign(1, top, n.hub.part("modules/base", motd("one\n")), n.hub.part("modules/web", issue("web\n")))
	n.start()
	n.hub.connect(true)
	r := n.hub.heard(t, "alarm", kind(fleet.Failed))
	for _, text := range []string{"root commit c0ffee", "this would remove file:/etc/first",
		"fettle agent enrol --replace-applied-state"} {
		if !strings.Contains(r.Event.Error, text) || !strings.Contains(r.Status.Error, text) {
			t.Errorf("%q lacks %q; the status has %q", r.Event.Error, text, r.Status.Error)
		}
	}
	if n.read("/etc/motd") != "" {
		t.Error("it was changed")
	}
	n.stop()
	n.adopt.Store(true)
	n.start()
	n.hub.heard(t, "ready", isReady)
	if n.read("/etc/motd") != "one\n" || n.adopt.Load() {
		t.Errorf("%q, still adopting: %t", n.read("/etc/motd"), n.adopt.Load())
	}
}
