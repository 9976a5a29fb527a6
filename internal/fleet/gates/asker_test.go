package gates

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/notify"
	"fettle.dev/fettle/internal/fleet/rollout"
	"fettle.dev/fettle/internal/host/mem"
)

// prometheus answers instant queries like Prometheus: the query is the answer.
func prometheus(t *testing.T) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/prom/api/v1/query" || r.Method != http.MethodGet {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		switch q := r.FormValue("query"); {
		case q == "redirect":
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		case q == "long":
			_, _ = io.WriteString(w, strings.Repeat("x", maxBytes+1))
		case q == "html":
			_, _ = io.WriteString(w, "<html>")
		case strings.HasPrefix(q, "{"):
			_, _ = io.WriteString(w, q)
		case q == "bad(":
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"status":"error","errorType":"bad_data","error":"unexpected end of input"}`)
		default:
			_, _ = fmt.Fprintf(w, `{"status":"success","data":{"resultType":"vector","result":[
				{"metric":{"job":"web"},"value":[1795000000.1,%q]}]}}`, q)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func result(kind, values string) string {
	return fmt.Sprintf(`{"status":"success","data":{"resultType":%q,"result":%s}}`, kind, values)
}

// TestMetric: a value outside of the limits is a failure. No value, or an answer of another program, is an error.
func TestMetric(t *testing.T) {
	s := prometheus(t)
	least, most := 1.0, 2.5
	for q, want := range map[string]string{
		"1": "pass the value is 1", "2.5": "pass the value is 2.5",
		"0.5":  "fail the value is 0.5, and must be at least 1",
		"1e9":  "fail the value is 1e+09, and may be at most 2.5",
		"+Inf": "fail the value is +Inf, and may be at most 2.5",
		"NaN":  "error the value is not a number",
		"bad(": "refuses the query: unexpected end of input",
		"html": "without JSON", "redirect": "answers with a redirect", "long": "longer than 1 MiB",
		result("scalar", `[1,"2"]`):                               "pass the value is 2",
		result("vector", `[]`):                                    "error the query returns 0 values",
		result("vector", `[{"value":[1,"2"]},{"value":[1,"2"]}]`): "error the query returns 2 values",
		result("matrix", `[]`):                                    "error the query returns a matrix",
		result("scalar", `[1]`):                                   "error cannot read the value",
		result("scalar", `[1,"two"]`):                             "error cannot read the value \"two\"",
		result("string", `[1,"2"]`):                               "error the query returns a string",
	} {
		g := rollout.Gate{Type: rollout.MetricGate, URL: s.URL + "/prom/", Query: q, Min: &least, Max: &most}
		v, why := askPrometheus(t.Context(), &notify.Sender{}, g)
		if got := string(v) + " " + why; !strings.Contains(got, want) {
			t.Errorf("%.60s: %s, want %s", q, got, want)
		}
	}
	s.Close()
	g := rollout.Gate{URL: s.URL, Query: "secret"}
	if v, why := askPrometheus(t.Context(), &notify.Sender{}, g); v != rollout.Unclear || strings.Contains(why, "secret") {
		t.Errorf("%s %s", v, why)
	}
}

// TestWebhook: the request is signed, and the answer is the verdict.
func TestWebhook(t *testing.T) {
	disk := mem.NewFS(mem.Options{})
	err := disk.Mkdir("/notify", 0o700)
	f, open := disk.OpenAppend("/notify/ci")
	if err = errors.Join(err, open); err == nil {
		_, err = f.Write([]byte("s3cret\n"))
	}
	if err != nil {
		t.Fatal(err)
	}
	var answer string
	status := 200
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mac := hmac.New(sha256.New, []byte("s3cret"))
		mac.Write(body)
		var q Question
		if err := json.Unmarshal(body, &q); err != nil || q.Rollout != "r7" || q.Wave != "canary" || q.Gate != "tests" ||
			r.Header.Get("X-Fettle-Signature") != "sha256="+hex.EncodeToString(mac.Sum(nil)) {
			t.Errorf("%s %v: %v", body, r.Header, err)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	defer s.Close()
	d := rollout.Due{Rollout: "r7", Plan: rollout.Plan{Waves: []rollout.Wave{{Name: "canary"}}},
		Gate: rollout.Gate{Name: "tests", Type: rollout.WebhookGate, URL: s.URL, Secret: "ci"}}
	sender := &notify.Sender{Files: disk, Dir: "/notify"}
	for _, c := range []struct {
		status       int
		answer, want string
	}{
		{200, `{"verdict":"pass","reason":"all tests pass"}`, "pass all tests pass"},
		{200, `{"verdict":"fail","reason":"2 tests fail"}`, "fail 2 tests fail"},
		{200, `{"verdict":"pending"}`, "pending "}, {202, "", "pending it will report its verdict"},
		{200, `{"verdict":"yes"}`, `error`}, {200, "", "error"}, {500, `{"verdict":"pass"}`, "error"},
		{204, "", "error"}, {301, "", "error"},
	} {
		status, answer = c.status, c.answer
		v, why := askWebhook(t.Context(), sender, d)
		if got := string(v) + " " + why; !strings.HasPrefix(got, c.want) {
			t.Errorf("%d %s: %s, want %s", c.status, c.answer, got, c.want)
		}
	}
	d.Gate.Secret = "missing"
	if v, why := askWebhook(t.Context(), sender, d); v != rollout.Unclear {
		t.Errorf("without the secret: %s %s", v, why)
	}
}

// log is a log in which a gate is due until it has a verdict.
type log struct {
	mu      sync.Mutex
	due     []rollout.Due
	ordered []rollout.Command
	done    context.CancelFunc
}

func (l *log) Due(int64) []rollout.Due { l.mu.Lock(); defer l.mu.Unlock(); return l.due }

func (l *log) Order(_ context.Context, c rollout.Command, _ int64) ([]rollout.Event, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ordered = append(l.ordered, c)
	l.done()
	return nil, nil
}

// TestRun: a gate that is due is asked, and its verdict is stored for its bake time.
func TestRun(t *testing.T) {
	s := prometheus(t)
	ctx, end := context.WithCancel(t.Context())
	g := rollout.Gate{Name: "errors", Type: rollout.MetricGate, URL: s.URL + "/prom", Query: "1", Interval: 1}
	l := &log{due: []rollout.Due{{Rollout: "r7", Gate: g, Period: 3}}, done: end}
	a := &Asker{Rollouts: l, Now: time.Now, Warn: func(s string) { t.Error(s) },
		Programs: Programs{Secrets: &notify.Sender{}},
		Record:   func(context.Context, []rollout.Event) {}}
	_ = a.Run(ctx)
	want := rollout.Command{Action: rollout.ToJudge, Rollout: "r7", Gate: "errors", Period: 3, Verdict: rollout.Pass,
		Why: "the value is 1"}
	if len(l.ordered) != 1 || !reflect.DeepEqual(l.ordered[0], want) {
		t.Errorf("%+v", l.ordered)
	}
}
