package notify_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/notify"
)

func hook(on ...string) document.Notification {
	return document.Notification{Name: "ops", On: on, Webhook: &document.Webhook{URL: "https://example.org/hook"}}
}

func failed(name string) notify.Item {
	return notify.Item{Key: "failed/" + name, NoticeItem: document.NoticeItem{Kind: "failed", Name: name,
		Text: "cannot restart nginx"}}
}

const second = int64(time.Second)

func ExampleState() {
	rule := hook()
	s, _ := notify.State{}.Fold(rule, notify.Observation{Now: 0,
		Conditions: []notify.Item{failed("web1"), failed("web2")}})
	s, _ = s.Fold(rule, notify.Observation{Now: 31 * second, Conditions: []notify.Item{failed("web1"), failed("web2")}})
	n := notify.Compose("acme", rule, *s.Due(31 * second))
	fmt.Println(n.Subject)
	fmt.Print(n.Text)
	// Output:
	// acme: 2 failed
	// failed  web1
	//     cannot restart nginx
	// failed  web2
	//     cannot restart nginx
}

// A condition is reported once until it ends. A condition that ends before it was reported is not
// reported. One notice is created at a time.
func TestConditionIsReportedUntilItEnds(t *testing.T) {
	rule, s := hook(), notify.State{}
	var told []string
	at := func(sec int64, names ...string) {
		var items []notify.Item
		for _, n := range names {
			items = append(items, failed(n))
		}
		s, _ = s.Fold(rule, notify.Observation{Now: sec * second, Conditions: items})
		for n := s.Due(sec * second); n != nil; n = s.Due(sec * second) {
			for _, i := range n.Items {
				told = append(told, fmt.Sprintf("%d %s %v", sec, i.Name, i.Resolved))
			}
			s = s.Sent(n.ID, nil, sec*second)
		}
	}
	at(0, "web1")
	at(10, "web1", "web2")
	at(20, "web1") // web2 was over before anybody heard of it
	at(31, "web1")
	at(40, "web1")
	at(50)
	at(55, "web3")
	at(62, "web3")
	at(300, "web3")
	at(310)
	at(331)
	at(341)
	want := []string{"31 web1 false", "300 web1 true", "300 web3 false", "341 web3 true"}
	if fmt.Sprint(told) != fmt.Sprint(want) {
		t.Errorf("got  %v\nwant %v", told, want)
	}
	if len(s.Conditions) != 0 || s.Delivered != 3 {
		t.Errorf("%+v", s)
	}
}

// A condition that cannot be seen now does not begin and does not end.
func TestBlind(t *testing.T) {
	rule := hook()
	s, _ := notify.State{}.Fold(rule, notify.Observation{Conditions: []notify.Item{failed("web1")}})
	s, _ = s.Fold(rule, notify.Observation{Now: 31 * second, Conditions: []notify.Item{failed("web1")}})
	s, changed := s.Fold(rule, notify.Observation{Now: 40 * second, Unobservable: map[string]bool{"failed": true}})
	if changed || len(s.Conditions) != 1 {
		t.Errorf("%v %+v", changed, s)
	}
}

// A notice is sent again with increasing delays and the same ID, and is lost after a day.
func TestRetries(t *testing.T) {
	rule := hook()
	s, _ := notify.State{}.Fold(rule, notify.Observation{Events: []notify.Item{failed("web1")}, Cursor: "7.0"})
	s, _ = s.Fold(rule, notify.Observation{Now: 31 * second, Cursor: "7.0"})
	id, now := s.Notices[0].ID, 31*second
	var waits []int64
	for range 10 {
		n := s.Due(now)
		if n == nil || n.ID != id {
			t.Fatalf("%+v", n)
		}
		s = s.Sent(id, errors.New("cannot reach it"), now)
		if s.Due(now) != nil {
			t.Fatal("it is due at once")
		}
		waits = append(waits, (s.Notices[0].Next-now)/second)
		now = s.Notices[0].Next
	}
	if fmt.Sprint(waits) != "[5 10 20 40 80 160 320 600 600 600]" {
		t.Error(waits)
	}
	s, changed := s.Fold(rule, notify.Observation{Now: 31*second + 25*3600*second, Cursor: "7.0"})
	if !changed || s.Lost != 1 || len(s.Notices) != 0 {
		t.Errorf("%v %+v", changed, s)
	}
}

// A command with approval waits, and is run or discarded by the decision of a user.
func TestApproval(t *testing.T) {
	rule := document.Notification{Name: "heal", Command: &document.Command{Program: "heal", Approve: true}}
	s, _ := notify.State{}.Fold(rule, notify.Observation{Events: []notify.Item{failed("web1")}})
	s, _ = s.Fold(rule, notify.Observation{Now: 31 * second})
	id := s.Notices[0].ID
	if s.Due(31*second) != nil {
		t.Fatal("it does not wait")
	}
	if _, ok := s.Approve("other", "ann", false); ok {
		t.Error("another one is approved")
	}
	yes, ok := s.Approve(id, "ann", false)
	if n := yes.Due(31 * second); !ok || n == nil || n.Approved != "ann" {
		t.Errorf("%v %+v", ok, n)
	}
	if no, ok := s.Approve(id, "ann", true); !ok || len(no.Notices) != 0 {
		t.Errorf("%v %+v", ok, no)
	}
	if s.Notices[0].Approved != "" {
		t.Error("the state that was asked has changed")
	}
}

// For all inputs and failures, each condition is reported at most once before it ends, the end of a
// reported condition is reported, and the state fits into a store.
func TestConditionsAreReportedOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rule, s, now := hook(), notify.State{}, int64(0)
		open := map[string]bool{}
		take := func() {
			for n := s.Due(now); n != nil; n = s.Due(now) {
				for _, i := range n.Items {
					if open[i.Name] == !i.Resolved {
						rt.Fatalf("%s is told twice, resolved %v", i.Name, i.Resolved)
					}
					open[i.Name] = !i.Resolved
				}
				s = s.Sent(n.ID, nil, now)
			}
		}
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			now += rapid.Int64Range(1, 60).Draw(rt, "seconds") * second
			var items []notify.Item
			for _, name := range rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 0, 5).Draw(rt, "failed") {
				items = append(items, failed(name))
			}
			s, _ = s.Fold(rule, notify.Observation{Now: now, Conditions: items})
			if rapid.Bool().Draw(rt, "sent") {
				take()
			} else if n := s.Due(now); n != nil {
				s = s.Sent(n.ID, errors.New("no"), now)
			}
		}
		for range 60 { // all is over, and everything is taken
			now += 700 * second
			s, _ = s.Fold(rule, notify.Observation{Now: now})
			take()
		}
		for name, is := range open {
			if is {
				rt.Fatalf("that %s is over was never told", name)
			}
		}
	})
}

// Ten thousand targets fail at once, and no notice is delivered.
func TestBounded(t *testing.T) {
	rule, s := hook(), notify.State{}
	for round := range int64(25) {
		var items []notify.Item
		for i := range 10_000 {
			i := failed(fmt.Sprintf("%d-web%026d", round, i))
			i.Text = strings.Repeat("x", 5000)
			items = append(items, i)
		}
		s, _ = s.Fold(rule, notify.Observation{Now: round * 60 * second, Conditions: items})
	}
	text, err := json.Marshal(s)
	if err != nil || len(text) > 1<<20 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

func TestCheck(t *testing.T) {
	good := hook("failed", "enrolled", "alarm", "mass_removal")
	good.Select = []string{"label:env=prod"}
	good.Template = "{{.Summary}}\n{{range .Items}}{{upper .Kind}} {{default \"fleet\" .Name}}\n{{end}}"
	if err := notify.Check(good); err != nil {
		t.Error(err)
	}
	with := func(f func(*document.Notification)) document.Notification {
		r := hook()
		f(&r)
		return r
	}
	for want, r := range map[string]document.Notification{
		"cannot use the name": with(func(r *document.Notification) { r.Name = "../x" }),
		"cannot notify about": hook("fialed"),
		"cannot send notices": {Name: "x"},
		"exactly one webhook": with(
			func(r *document.Notification) { r.Command = &document.Command{Program: "p"} }),
		"cannot send to this URL": with(
			func(r *document.Notification) { r.Webhook.URL = "file:///etc/passwd" }),
		"without a password": with(
			func(r *document.Notification) { r.Webhook.URL = "https://a:b@example.org" }),
		"cannot read the template": with(func(r *document.Notification) { r.Template = "{{" }),
		"templates of notices have no function printf": with(
			func(r *document.Notification) { r.Template = `{{printf "%1000000d" 1}}` }),
		"range over another value than a field": with(
			func(r *document.Notification) { r.Template = "{{range 1000000000}}{{end}}" }),
		"two levels deep": with(func(r *document.Notification) {
			r.Template = "{{range .Items}}{{range $.Items}}{{range $.Items}}{{end}}{{end}}{{end}}"
		}),
		"defines other templates": with(
			func(r *document.Notification) { r.Template = `{{define "a"}}{{template "a"}}{{end}}{{template "a"}}` }),
		"cannot fill the template": with(func(r *document.Notification) { r.Template = "{{.Nothing}}" }),
		"a program":                {Name: "x", Command: &document.Command{Program: "ok", Args: []string{"a\x00b"}}},
		"the name \"/bin/sh\"":     {Name: "x", Command: &document.Command{Program: "/bin/sh"}},
		"needs 1 to 50 addresses":  {Name: "x", Mail: &document.Mail{Server: "mail:25", From: "a@b"}},
		"both a user and": {Name: "x", Mail: &document.Mail{Server: "mail:25", From: "a@b", To: []string{"c@d"},
			User: "u"}},
		"HOST:PORT": {Name: "x", Mail: &document.Mail{Server: "mail", From: "a@b", To: []string{"c@d"}}},
	} {
		if err := notify.Check(r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// If a template fails, the standard template is used.
func TestTemplateThatFails(t *testing.T) {
	r := hook()
	r.Template = "{{index .Items 9}}"
	n := notify.Compose("acme", r, notify.Example(r, "7", 0))
	if n.Subject != "acme: 1 test" || !strings.Contains(n.Text, "cannot fill the template") {
		t.Errorf("%q\n%s", n.Subject, n.Text)
	}
}
