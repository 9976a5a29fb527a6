package hub_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/test/sample"
)

// A problem is reported once, also by a hub that restarted meanwhile, and its end is reported. A
// notice that was not delivered is sent again with the same ID.
func TestNotifications(t *testing.T) {
	sample.Group(t, 0, 8)
	t.Parallel()
	told := make(chan document.Notice, 100)
	refuse := make(chan bool, 100)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var n document.Notice
		if err := json.NewDecoder(r.Body).Decode(&n); err != nil || n.ID != r.Header.Get("Idempotency-Key") ||
			!strings.HasPrefix(r.Header.Get("X-Fettle-Signature"), "sha256=") {
			t.Errorf("%v %v", err, r.Header)
		}
		told <- n
		select {
		case <-refuse:
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
		}
	}))
	defer srv.Close()
	w := newWorld(t)
	w.commit(map[string]string{"fettle.hcl": "target_group \"web\" {\n  labels = {}\n  modules = [\"web\"]\n}\n",
		"modules/web/module.hcl": "file \"/etc/motd\" { content = \"one\" }\n"})
	w.birth()
	if err := os.Mkdir(filepath.Join(w.dir, "hub", "notify"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.dir, "hub", "notify", "key"), []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.start()
	rule := document.Notification{Name: "ops", On: []string{"unresolved_pin"}, Every: int64(time.Second),
		Webhook: &document.Webhook{URL: srv.URL, Sign: "key"}}
	w.ask("POST", "/v1/notifications", rule, &document.Done{})
	w.ask("POST", "/v1/notifications/ops/test", document.ReasonRequest{}, &document.Done{})
	if n := <-told; n.Items[0].Kind != "test" || n.Fleet != "acme" {
		t.Errorf("%+v", n)
	}
	var tok document.NewToken
	w.ask("POST", "/v1/tokens", document.TokenRequest{}, &tok)
	w.agent("web1", tok.Secret)

	refuse <- true
	w.ask("POST", "/v1/targets/web1/pin", document.PinRequest{Ref: "no-such-branch"}, &document.Done{})
	first := next(t, told)
	if len(first.Items) != 1 || first.Items[0].Kind != "unresolved_pin" ||
		!strings.Contains(first.Text, "no-such-branch") {
		t.Fatalf("%+v", first)
	}
	if again := next(t, told); again.ID != first.ID {
		t.Errorf("%+v\n%+v", first, again)
	}
	w.stop()
	w.start()
	until(t, "the rule has told one and it holds", func() (document.NotificationPage, bool) {
		var p document.NotificationPage
		w.ask("GET", "/v1/notifications", nil, &p)
		n := p.Notifications[0]
		return p, n.Sent == 1 && n.Holds == 1 && len(n.Waiting) == 0
	})
	var alarms document.AlarmPage
	w.ask("GET", "/v1/alarms", nil, &alarms)
	if !slices.ContainsFunc(alarms.Alarms, func(a document.Alarm) bool {
		return a.Kind == "unresolved_pin" &&
			a.Targets[0] == "web1"
	}) {
		t.Errorf("%+v", alarms)
	}
	w.ask("POST", "/v1/targets/web1/unpin", document.UnpinRequest{}, &document.Done{})
	over := next(t, told)
	for over.ID == first.ID { // the hub stopped before it recorded the last delivery
		over = next(t, told)
	}
	if len(over.Items) != 1 || !over.Items[0].Resolved {
		t.Errorf("%+v", over)
	}
	log, err := os.ReadFile(filepath.Join(w.dir, "hub", "audit.log"))
	if err != nil || strings.Contains(string(log), "s3cret") {
		t.Errorf("%v: the audit log knows the secret", err)
	}
}

func next(t *testing.T, told <-chan document.Notice) document.Notice {
	t.Helper()
	select {
	case n := <-told:
		return n
	case <-time.After(time.Minute):
		t.Fatal("nobody is told")
		return document.Notice{}
	}
}
