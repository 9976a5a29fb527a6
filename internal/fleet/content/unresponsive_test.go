package content_test

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/content"
)

// A hub that accepts requests and never answers costs one time limit for all content of a fetcher.
// From then on, the fetcher tries the other hubs first.
func TestFetchAvoidsAnUnresponsiveHub(t *testing.T) {
	hub := memStore(t, 0)
	var asked atomic.Int32
	end := make(chan struct{})
	silent := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked.Add(1)
		<-end
	}))
	t.Cleanup(func() { close(end) })
	f := fetcher(memStore(t, 0), silent, serve(t, &content.Server{Store: hub, Authorize: everything}))
	f.Stall = 200 * time.Millisecond
	links := 0
	f.FetchSmall = func(context.Context, string) ([]byte, error) { // it waits, and ends without an answer
		links++
		return nil, context.DeadlineExceeded
	}
	for i := range 4 {
		if err := f.Fetch(t.Context(), mustAdd(t, hub, fmt.Sprint("text ", i))); err != nil {
			t.Fatal(err)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("the silent hub was asked %d times", n)
	}
	if links != 1 {
		t.Errorf("the silent link was asked %d times", links)
	}
}
