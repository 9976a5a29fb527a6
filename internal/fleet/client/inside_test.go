package client_test

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// A handler in this process sees the sender of the request that a client stands for, and no cookies of it.
func TestInside(t *testing.T) {
	on := httptest.NewRequest(http.MethodGet, "https://hub.example.org/targets", nil)
	on.RemoteAddr, on.TLS = "192.0.2.7:4711", &tls.ConnectionState{ServerName: "hub.example.org"}
	on.Header.Set("User-Agent", "browser/1")
	on.AddCookie(&http.Cookie{Name: "session", Value: "secret"})
	var got *http.Request
	var in document.FreezeRequest
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		if r.Method == http.MethodPost {
			if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
				t.Error(err)
			}
			w.WriteHeader(http.StatusConflict)
			_ = json.NewEncoder(w).Encode(document.Problem{Title: "No", Status: http.StatusConflict})
			return
		}
		_ = json.NewEncoder(w).Encode(document.CurrentUser{Name: "kim"})
	})
	c := client.Inside(h, "token1", on)
	who, err := client.Get(t.Context(), c, route.WhoAmI())
	if err != nil || who.Name != "kim" {
		t.Fatalf("%+v, %v", who, err)
	}
	if got.RemoteAddr != on.RemoteAddr || got.TLS != on.TLS || got.UserAgent() != "browser/1" ||
		got.RequestURI != "/v1/whoami" || got.Header.Get("Authorization") != "Bearer token1" || len(got.Cookies()) > 0 {
		t.Errorf("the handler sees %+v", got)
	}
	_, err = client.Post(t.Context(), c, route.FreezeAll(), document.FreezeRequest{Reason: "fire"})
	if p, ok := errors.AsType[*document.Problem](err); !ok || p.Status != http.StatusConflict || in.Reason != "fire" {
		t.Errorf("%+v, %v", in, err)
	}
	_, _ = client.Get(t.Context(), client.Inside(h, "", on), route.WhoAmI())
	if len(got.Header.Values("Authorization")) > 0 {
		t.Error("a client without a token sends one")
	}
}

// An answer that is too long is an error, and does not use more memory.
func TestInsideIsLimited(t *testing.T) {
	wrote := 0
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range 100 {
			n, err := w.Write([]byte(strings.Repeat(" ", 1<<20)))
			if wrote += n; err != nil {
				return
			}
		}
	})
	c := client.Inside(h, "", httptest.NewRequest(http.MethodGet, "/", nil))
	if _, err := client.Get(t.Context(), c, route.WhoAmI()); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Error(err)
	}
	if wrote > 64<<20 {
		t.Errorf("%d bytes", wrote)
	}
}
