package hub_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/exported"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
)

func (s *sharer) request(a fleet.Request) (string, error) {
	body, err := json.Marshal(a)
	if err != nil {
		return "", err
	}
	said, err := s.link.Ask(s.t.Context(), fleet.MessageRequest, body)
	var answer fleet.RequestAnswer
	if err == nil {
		err = json.Unmarshal(said, &answer)
	}
	return answer.Answer, err
}

// requests repeats a request until a hub answers.
func (s *sharer) requests(what fleet.RequestKind, because, want string) {
	s.t.Helper()
	until(s.t, string(what), func() (string, bool) {
		got, err := s.request(fleet.Request{What: what, Reason: because})
		if err != nil {
			return err.Error(), false
		}
		return got, got == want
	})
}

func (w *world) pendingRequests() []document.Request {
	var p document.RequestPage
	w.ask("GET", "/v1/requests", nil, &p)
	return p.Requests
}

// A request of an agent waits for a user, and only affects its own target.
func TestRequests(t *testing.T) {
	w := newWorld(t)
	w.commit(map[string]string{"fettle.hcl": "target_group \"web\" { labels = {} }\n"})
	w.birth()
	w.start()
	web1, web2 := w.sharer("web1", nil), w.sharer("web2", nil)
	web1.requests(fleet.RequestSuspect, "disk errors", fleet.RequestPending)
	web1.requests(fleet.RequestSuspect, "disk errors", fleet.RequestPending) // and again: the same
	web2.requests(fleet.RequestFreeze, "I am examined", fleet.RequestPending)
	if held := w.pendingRequests(); len(held) != 2 || held[0].Name != "web1" || held[0].What != fleet.RequestSuspect ||
		held[0].Reason != "disk errors" {
		t.Errorf("%+v", held)
	}
	marked := func(is bool) {
		t.Helper()
		until(t, "the mark", func() (any, bool) {
			var d document.TargetDetail
			w.ask("GET", "/v1/targets/web1", nil, &d)
			return d.Target.Suspect, (d.Target.Suspect != nil && d.Target.Suspect.Reason == "disk errors") == is
		})
	}
	marked(false)
	w.ask("POST", "/v1/targets/web1/requests/suspect/approve", document.ReasonRequest{}, &document.Done{})
	marked(true)
	w.ask("POST", "/v1/targets/web2/requests/freeze/reject", document.ReasonRequest{Reason: "no"}, &document.Done{})
	until(t, "nothing waits", func() (any, bool) { held := w.pendingRequests(); return held, len(held) == 0 })
	var d document.TargetDetail
	w.ask("GET", "/v1/targets/web2", nil, &d)
	if d.Target.Frozen != "" || d.Target.Suspect != nil {
		t.Errorf("of web2 %q %v", d.Target.Frozen, d.Target.Suspect)
	}
	w.ask("POST", "/v1/targets/web1/trust", document.ReasonRequest{}, &document.Done{})
	marked(false)
	w.inAudit("request suspect", "disk errors")
}

// inAudit reports whether the audit log has a record with all of some texts.
func (w *world) inAudit(texts ...string) {
	w.t.Helper()
	log, err := os.ReadFile(filepath.Join(w.dir, "hub", "audit.log"))
	if err != nil {
		w.t.Fatal(err)
	}
	for line := range strings.Lines(string(log)) {
		if !slices.ContainsFunc(texts, func(s string) bool { return !strings.Contains(line, s) }) {
			return
		}
	}
	w.t.Errorf("no record has %q", texts)
}

// The policy can grant requests at once, and reject them. Its first value is from the settings of the
// first hub, and later it belongs to the fleet.
func TestRequestPolicy(t *testing.T) {
	w := newWorld(t)
	w.commit(map[string]string{"fettle.hcl": "target_group \"web\" { labels = {} }\n"})
	w.birth()
	file := filepath.Join(w.dir, "hub", "hub.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	with := strings.Replace(string(text), "{", `{"requests":{"suspect":"reject","freeze":"allow"},`, 1)
	if err := os.WriteFile(file, []byte(with), 0o600); err != nil {
		t.Fatal(err)
	}
	w.start()
	web := w.sharer("web1", nil)
	web.requests(fleet.RequestFreeze, "I am examined", fleet.RequestDone)
	var d document.TargetDetail
	until(t, "it is frozen", func() (string, bool) {
		w.ask("GET", "/v1/targets/web1", nil, &d)
		return d.Target.Frozen, d.Target.Frozen != ""
	})
	if _, err := web.request(fleet.Request{What: fleet.RequestSuspect, Reason: "x"}); err == nil {
		t.Error("what is refused is done")
	}
	w.inAudit("request suspect", "denied")
	if held := w.pendingRequests(); len(held) != 0 || d.Target.Suspect != nil {
		t.Errorf("%v %v", held, d.Target.Suspect)
	}

	// From then on the policy of the fleet applies, and settings of hubs are ignored.
	w.ask("POST", "/v1/requests/policy", document.RequestPolicyChange{What: fleet.RequestSuspect, Answer: fleet.Allow},
		&document.Done{})
	w.inAudit("POST /v1/requests/policy", "suspect")
	w.stop()
	if err := os.WriteFile(file, []byte(strings.Replace(with, `"allow"`, `"reject"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	w.start()
	var p document.RequestPolicy
	w.ask("GET", "/v1/requests/policy", nil, &p)
	if p.Answers[fleet.RequestFreeze] != fleet.Allow || p.Answers[fleet.RequestSuspect] != fleet.Allow || p.By != "root" {
		t.Errorf("%+v", p)
	}
	web.requests(fleet.RequestSuspect, "disk errors", fleet.RequestDone)
}

// refusedRequests returns the number of events about refused requests of agents, and false for none.
func (w *world) refusedRequests() (n int, some bool) {
	var p document.EventPage
	w.ask("GET", "/v1/events", nil, &p)
	for _, e := range p.Events {
		if e.Kind == string(fleet.RequestReceived) && e.Error != "" {
			n++
		}
	}
	return n, n > 0
}

// A hostile agent sends requests for other targets, unknown requests, huge texts, and endless requests.
func TestRequestsOfAHostileAgent(t *testing.T) {
	w := newWorld(t)
	w.commit(map[string]string{"fettle.hcl": "target_group \"web\" { labels = {} }\n"})
	w.birth()
	w.start()
	bad, other := w.sharer("bad", nil), w.sharer("other", nil)
	bad.requests(fleet.RequestSuspect, "first", fleet.RequestPending)
	other.says(`"here"`)
	for _, body := range []string{
		"", "[]", "null", `{"what":"admin","because":"x"}`, `{"what":"suspect","because":""}`,
		`{"what":"suspect","because":"a\nb"}`, `{"what":"suspect","because":"\u001b[2J"}`,
		`{"what":"suspect","because":"x","target":"` + string(other.id.ID) + `"}`,
		`{"what":"suspect","because":"x","name":"other"}`,
		`{"what":"suspect","because":"` + strings.Repeat("x", fleet.MaxReason+1) + `"}`,
		`{"what":"suspect","because":"` + strings.Repeat("x", 1<<18) + `"}`,
	} {
		if _, err := bad.link.Ask(t.Context(), fleet.MessageRequest, []byte(body)); err == nil {
			t.Errorf("%.60q is taken", body)
		}
	}
	taken := 0
	for i := range 100 {
		if _, err := bad.request(fleet.Request{What: fleet.RequestFreeze, Reason: strings.Repeat("y", i+1)}); err == nil {
			taken++
		}
	}
	if taken > 5 {
		t.Errorf("%d asks at once are heard", taken)
	}
	held := w.pendingRequests()
	if len(held) > 2 || slices.ContainsFunc(held, func(a document.Request) bool { return a.Name != "bad" }) {
		t.Errorf("%+v", held)
	}
	if told := until(t, "an event of the refused requests", w.refusedRequests); told != 1 {
		t.Errorf("%d events tell of them", told)
	}
	if err := other.export(exported.Own{Module: "modules/web", Output: "address", Value: `"there"`}); err != nil {
		t.Error(err)
	}
	w.ask("POST", "/v1/targets/bad/revoke", document.ReasonRequest{Reason: "hostile"}, &document.Done{})
	until(t, "what it asked for is gone", func() (any, bool) { held := w.pendingRequests(); return held, len(held) == 0 })
}
