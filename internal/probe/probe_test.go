package probe_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"fettle.dev/fettle/internal/probe"
)

func TestNet(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, "/", http.StatusFound)
			return
		}
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write([]byte("short and stout"))
	}))
	defer srv.Close()
	ctx := context.Background()
	status, body, err := probe.Net{}.HTTP(ctx, srv.URL)
	if status != http.StatusTeapot || string(body) != "short and stout" || err != nil {
		t.Errorf("%d %q %v", status, body, err)
	}
	if status, _, err := (probe.Net{}).HTTP(ctx, srv.URL+"/moved"); status != http.StatusFound || err != nil {
		t.Errorf("a redirect was followed, or failed: %d %v", status, err)
	}
	address := srv.Listener.Addr().String()
	if err := (probe.Net{}).TCP(ctx, address); err != nil {
		t.Error(err)
	}
	srv.Close()
	if err := (probe.Net{}).TCP(ctx, address); err == nil {
		t.Error("a closed port accepts")
	}
	if _, _, err := (probe.Net{}).HTTP(ctx, "http://"+net.JoinHostPort("127.0.0.1", "bad")); err == nil {
		t.Error("a bad address answers")
	}
}

// TestLimit: an attempt ends at its time limit.
func TestLimit(t *testing.T) {
	hold := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hold }))
	defer srv.Close()
	defer close(hold)
	_, _, err := probe.Net{Limit: 50 * time.Millisecond}.HTTP(t.Context(), srv.URL)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}
