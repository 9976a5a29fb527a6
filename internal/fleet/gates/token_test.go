package gates

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/notify"
	"fettle.dev/fettle/internal/fleet/rollout"
	"fettle.dev/fettle/internal/host/mem"
)

const token = "t0k3n-of-prometheus"

// secretFiles returns a sender with files.
func secretFiles(t *testing.T, files map[string]string) *notify.Sender {
	disk := mem.NewFS(mem.Options{})
	if err := disk.Mkdir("/notify", 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		f, err := disk.OpenAppend("/notify/" + name)
		if err == nil {
			_, err = f.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return &notify.Sender{Files: disk, Dir: "/notify"}
}

// TestToken: the token reaches only the address in its file, and no answer and no error contains it.
func TestToken(t *testing.T) {
	var headers []string
	var answer http.HandlerFunc
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		headers = append(headers, r.Header.Get("Authorization"))
		answer(w, r)
	}))
	defer s.Close()
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another host gets %s with %q", r.URL, r.Header.Get("Authorization"))
	}))
	defer other.Close()
	text := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }
	}
	refused := func(why string) http.HandlerFunc { return text(`{"status":"error","error":"` + why + `"}`) }
	good := text(result("scalar", `[1,"2"]`))
	files := secretFiles(t, map[string]string{"prom": strings.ToUpper(s.URL[:4]) + s.URL[4:] + "/\n" + token + "\n",
		"foreign": other.URL + "\n" + token, "key": token, "bad": s.URL + "\n" + token + "ü", "empty": "",
		"plain": "http://prometheus.example.org " + token})
	for name, c := range map[string]struct {
		url, file string
		answer    http.HandlerFunc
		want      string
		sent      bool
	}{
		"good":            {s.URL, "prom", good, "pass the value is 2", true},
		"without a token": {s.URL, "", good, "pass the value is 2", false},
		"no file":         {s.URL, "missing", good, "missing", false},
		"other secret":    {s.URL, "key", good, "must have two lines", false},
		"empty":           {s.URL, "empty", good, "must have two lines", false},
		"bad token":       {s.URL, "bad", good, "not permitted", false},
		"other address":   {s.URL, "foreign", good, "names another address", false},
		"plain text":      {"http://prometheus.example.org", "plain", good, "only to https addresses", false},
		"path":            {s.URL, "../prom", good, "cannot use", false},
		"redirect":        {s.URL, "prom", http.RedirectHandler(other.URL, http.StatusFound).ServeHTTP, "a redirect", true},
		"echo":            {s.URL, "prom", refused(token), "query: (token)", true},
		"escaped":         {s.URL, "prom", refused(`\u0074` + token[1:]), "query: (token)", true},
		"value":           {s.URL, "prom", text(result("scalar", `[1,"`+token+`"]`)), "cannot read the value", true},
	} {
		headers, answer = nil, c.answer
		v, why := askPrometheus(t.Context(), files, rollout.Gate{URL: c.url, Query: "up", Token: c.file})
		got := string(v) + " " + why
		if !strings.Contains(got, c.want) || strings.Contains(got, token) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if has := len(headers) == 1 && headers[0] == "Bearer "+token; has != c.sent {
			t.Errorf("%s: the server gets %q", name, headers)
		}
	}
	s.Close()
	if _, why := askPrometheus(t.Context(), files, rollout.Gate{URL: s.URL, Token: "prom"}); strings.Contains(why, token) {
		t.Error(why)
	}
}
