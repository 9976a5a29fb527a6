package outside_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/outside"
)

func Example() {
	run := func(context.Context, host.Command) (host.CommandResult, error) {
		return host.CommandResult{Stdout: []byte(`["ann"]`)}, nil
	}
	answer, err := outside.Asker{Run: run}.Ask(context.Background(), source.Lookup{Command: []string{"list-admins"}},
		"/srv/infra")
	fmt.Println(string(answer), err)
	// Output: ["ann"] <nil>
}

// server answers in every way that a lookup can meet.
func server(t *testing.T) *httptest.Server {
	t.Helper()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
		_ *http.Request) {
		fmt.Fprint(w, "from elsewhere")
	}))
	t.Cleanup(other.Close)
	mux := http.NewServeMux()
	mux.HandleFunc("/good", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "good") })
	mux.HandleFunc("/here", func(w http.ResponseWriter,
		r *http.Request) {
		http.Redirect(w, r, "/good", http.StatusFound)
	})
	mux.HandleFunc("/elsewhere", func(w http.ResponseWriter,
		r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusFound)
	})
	mux.HandleFunc("/scheme", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://"+r.Host+"/good", http.StatusFound)
	})
	mux.HandleFunc("/file", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "file:///etc/passwd")
		w.WriteHeader(http.StatusFound)
	})
	mux.HandleFunc("/round", func(w http.ResponseWriter,
		r *http.Request) {
		http.Redirect(w, r, "/round", http.StatusFound)
	})
	mux.HandleFunc("/empty", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("/large", func(w http.ResponseWriter,
		_ *http.Request) {
		fmt.Fprint(w, strings.Repeat("x", outside.MaxAnswer+1))
	})
	mux.HandleFunc("/cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		fmt.Fprint(w, "half")
	})
	mux.HandleFunc("/never", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func TestURL(t *testing.T) {
	s := server(t)
	for path, want := range map[string]string{
		"/good": "good", "/here": "good",
		"/gone": "404", "/empty": "204", "/elsewhere": "another host", "/scheme": "another scheme", "/file": "another",
		"/round": "more than 5", "/large": "more than", "/cut": "unexpected EOF", "/never": "deadline",
	} {
		t.Run(path, func(t *testing.T) {
			l := source.Lookup{URL: s.URL + path}
			if path == "/never" {
				l.Timeout = 50 * time.Millisecond
			}
			answer, err := outside.Asker{Transport: &http.Transport{}}.Ask(context.Background(), l, "")
			if got := fmt.Sprint(string(answer), err); !strings.Contains(got, want) {
				t.Errorf("got %s, want %s", got, want)
			}
			if err != nil && len(answer) > 0 {
				t.Errorf("half an answer: %q", answer)
			}
		})
	}
	if _, err := (outside.Asker{}).Ask(context.Background(), source.Lookup{URL: "gopher://x/"}, ""); err == nil {
		t.Error("another scheme is asked")
	}
}

func TestCommand(t *testing.T) {
	for name, c := range map[string]struct {
		res  host.CommandResult
		want string
	}{
		"good": {host.CommandResult{Stdout: []byte("x")}, "x<nil>"},
		"fails": {host.CommandResult{ExitCode: 3, Stderr: []byte("a\nno such user\n")},
			"ended with exit code 3: no such user"},
		"late":  {host.CommandResult{ExitCode: -1, TimedOut: true}, "longer than 30s"},
		"large": {host.CommandResult{Stdout: make([]byte, outside.MaxAnswer+1)}, "more than"},
	} {
		a := outside.Asker{Run: func(_ context.Context, cmd host.Command) (host.CommandResult, error) {
			if cmd.Dir != "/repo/modules/web" {
				t.Errorf("it runs in %q", cmd.Dir)
			}
			return c.res, nil
		}}
		answer, err := a.Ask(context.Background(), source.Lookup{Directory: "modules/web", Command: []string{"list"}},
			"/repo")
		if got := fmt.Sprint(string(answer), err); !strings.Contains(got, c.want) {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}
