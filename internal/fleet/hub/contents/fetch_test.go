package contents_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/content"
)

// fetching runs a test beside Fetch of a hub that is alone.
func fetching(t *testing.T, test func(t *testing.T, w *world, fetch func())) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newFleet(t, time.Now())
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		test(t, w, func() { go func() { ended <- w.Fetch(ctx) }() })
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the end of Fetch: %v", err)
		}
	})
}

// TestFetchFromTheRepository: the leader packs the commit of missing content, once for all targets with
// the same content, and again only after a change.
func TestFetchFromTheRepository(t *testing.T) {
	fetching(t, func(t *testing.T, w *world, fetch func()) {
		w.sources.change(nil, commit, "root", "module", "proof")
		root, module, proof := w.bundle("root"), w.bundle("module"), w.bundle("proof")
		for n := range 3 {
			w.assigns(bustest.ID(n), root, nil, fleet.Assigned{Bundle: module, Proof: &proof})
		}
		w.leads(t.Context())
		synctest.Wait()
		fetch()
		synctest.Wait()
		if n := w.sources.packed(); n != 1 || !w.Store.Has(root) || !w.Store.Has(module) || !w.Store.Has(proof) {
			t.Errorf("packed %d times; root %t, module %t, proof %t", n, w.Store.Has(root), w.Store.Has(module),
				w.Store.Has(proof))
		}
		later := w.bundle("later")
		w.sources.change(nil, commit, "later")
		w.assigns(bustest.ID(7), root, nil, fleet.Assigned{Bundle: later})
		for range 5 {
			w.Wake()
		}
		time.Sleep(time.Second)
		if n := w.sources.packed(); n != 2 || !w.Store.Has(later) {
			t.Errorf("after a change: packed %d times, stored %t", n, w.Store.Has(later))
		}
		time.Sleep(24 * time.Hour)
		if n := w.sources.packed(); n != 2 || len(w.warnings()) > 0 {
			t.Errorf("without a change: packed %d times, warnings %q", n, w.warnings())
		}
	})
}

// TestFetchWithoutAClone: a hub that has not led yet waits, and fetches the content when it leads.
func TestFetchWithoutAClone(t *testing.T) {
	fetching(t, func(t *testing.T, w *world, fetch func()) {
		root := w.bundle("root")
		w.sources.change(nil, commit, "root")
		w.assigns(bustest.ID(1), root, nil)
		fetch()
		time.Sleep(time.Hour)
		if w.Store.Has(root) || len(w.warnings()) > 0 {
			t.Errorf("before it leads: stored %t, warnings %q", w.Store.Has(root), w.warnings())
		}
		w.leads(t.Context())
		time.Sleep(time.Hour)
		if !w.Store.Has(root) {
			t.Error("the content is missing after an hour of leading")
		}
	})
}

// TestFetchAfterAnError: a repository that cannot be read is a warning, and the next search tries again.
func TestFetchAfterAnError(t *testing.T) {
	fetching(t, func(t *testing.T, w *world, fetch func()) {
		root := w.bundle("root")
		w.sources.change(errors.New("no route to host"), commit)
		w.assigns(bustest.ID(1), root, nil)
		w.leads(t.Context())
		synctest.Wait()
		fetch()
		synctest.Wait()
		if got := w.warnings(); len(got) != 1 || !strings.Contains(got[0], "no route to host") {
			t.Errorf("warnings: %q", got)
		}
		w.sources.change(nil, commit, "root")
		time.Sleep(time.Hour)
		if !w.Store.Has(root) {
			t.Error("the content is missing after the repository answers again")
		}
	})
}

// TestFetchWithoutTrust: a hub that cannot verify other hubs fetches nothing.
func TestFetchWithoutTrust(t *testing.T) {
	w := newFleet(t, start)
	w.noTrust = errors.New("no certificate")
	if err := w.Fetch(t.Context()); !errors.Is(err, w.noTrust) {
		t.Errorf("%v", err)
	}
}

// serves serves the content of a hub, and returns its URL and the number of requests.
func (w *world) serves() (url string, requests *atomic.Int32) {
	w.t.Helper()
	trust, err := w.keys.Trust(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	requests = &atomic.Int32{}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		w.Server.ServeHTTP(out, r)
	}))
	s.Listener = tls.NewListener(s.Listener, trust.ServerTLS(w.keys.TLS, func() time.Time { return w.now }))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Start()
	w.t.Cleanup(s.Close)
	return "https://" + s.Listener.Addr().String(), requests
}

// TestFetchFromAnotherHub: a hub asks the other hubs first, and itself never. It verifies the content.
func TestFetchFromAnotherHub(t *testing.T) {
	first := newFleet(t, start)
	second := newHub(t, first.root, "hub2", start)
	second.alone = false
	b := add(t, first.Store, "root")
	url, asked := first.serves()
	own, askedItself := second.serves()
	second.member("hub1", url)
	second.member("hub2", own)
	second.assigns(bustest.ID(1), b, nil)
	second.leads(t.Context())
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- second.Fetch(ctx) }()
	bustest.Await(t, "the content arrives", func() bool { return second.Store.Has(b) })
	stop()
	if err := <-ended; err != nil {
		t.Errorf("the end of Fetch: %v", err)
	}
	if asked.Load() != 1 || askedItself.Load() != 0 || second.sources.packed() != 0 {
		t.Errorf("%d requests to the other hub, %d to itself, packed %d times", asked.Load(), askedItself.Load(),
			second.sources.packed())
	}
	if status, body := get(t, second.Server, second.target(bustest.ID(1)), content.Path+b.Digest); body != "root" {
		t.Errorf("%d %q", status, body)
	}
}

// TestFetchAlone: a hub that started without other hubs does not ask them.
func TestFetchAlone(t *testing.T) {
	first := newFleet(t, start)
	second := newHub(t, first.root, "hub2", start)
	b := add(t, first.Store, "root")
	url, asked := first.serves()
	second.member("hub1", url)
	second.assigns(bustest.ID(1), b, nil)
	second.sources.change(nil, commit, "root")
	second.leads(t.Context())
	bustest.Await(t, "the hub leads", func() bool {
		_, err := second.Repository.Pack(t.Context(), fleet.Revision{}, second.Store)
		return err == nil
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- second.Fetch(ctx) }()
	bustest.Await(t, "the content arrives", func() bool { return second.Store.Has(b) })
	stop()
	if err := <-ended; err != nil || asked.Load() != 0 {
		t.Errorf("%v, %d requests to another hub", err, asked.Load())
	}
}
