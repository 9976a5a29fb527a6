package bustest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"fettle.dev/fettle/internal/fleet"
)

// linked returns a link after both ends are connected.
func linked(t *testing.T, ctx context.Context, b Bus, id fleet.TargetID, prepare func(fleet.Link)) fleet.Link {
	t.Helper()
	l := b.Link(ctx, id)
	t.Cleanup(func() { _ = l.Close() })
	if prepare != nil {
		prepare(l)
	}
	var up atomic.Bool
	l.Changes(up.Store)
	Await(t, "the hub and "+string(id)+" see each other",
		func() bool { return up.Load() && slices.Contains(b.Exchange.Connected(), id) })
	return l
}

func conformAsk(t *testing.T, ctx context.Context, b Bus) {
	var told atomic.Int64
	serve := func(ctx context.Context, from fleet.TargetID, body []byte) ([]byte, error) {
		told.Add(1)
		return fmt.Appendf(nil, "%s said %s", from, body), nil
	}
	if err := b.Exchange.Serve("greet", serve); err != nil {
		t.Fatal(err)
	}
	if err := b.Exchange.Serve("greet", serve); err == nil {
		t.Error("served a word twice")
	}
	for i := range 3 {
		l := linked(t, ctx, b, ID(i), nil)
		for n := range 20 {
			got := must[[]byte](t)(l.Ask(ctx, "greet", fmt.Append(nil, n)))
			if want := fmt.Sprintf("%s said %d", ID(i), n); string(got) != want {
				t.Errorf("answer %q, want %q", got, want)
			}
		}
		if err := l.Tell("greet", nil); err != nil {
			t.Error(err)
		}
	}
	Await(t, "all requests and notifications arrive", func() bool { return told.Load() == 63 })
}

func conformErrors(t *testing.T, ctx context.Context, b Bus) {
	known := []error{fleet.ErrNotFound, fleet.ErrConflict, fleet.ErrOffline, fleet.ErrNoHub, fleet.ErrDenied}
	if err := b.Exchange.Serve("fail", func(_ context.Context, _ fleet.TargetID, body []byte) ([]byte, error) {
		if n := int(body[0]); n < len(known) {
			return nil, fmt.Errorf("cannot do it: %w", known[n])
		}
		return nil, errors.New("something else")
	}); err != nil {
		t.Fatal(err)
	}
	l := linked(t, ctx, b, ID(1), nil)
	for i, want := range known {
		_, err := l.Ask(ctx, "fail", []byte{byte(i)})
		wantErr(t, "an error that travels", err, want)
		if text := "cannot do it: " + want.Error(); err == nil || err.Error() != text {
			t.Errorf("the error says %v, want %s", err, text)
		}
	}
	if _, err := l.Ask(ctx, "fail", []byte{99}); err == nil || err.Error() != "something else" {
		t.Errorf("another error arrived as %v", err)
	}
	_, err := l.Ask(ctx, "nobody-serves-this", nil)
	wantErr(t, "a word that no hub serves", err, fleet.ErrNoHub)
	if _, err := l.Ask(ctx, "a.b", nil); err == nil {
		t.Error("asked under a word of two parts")
	}
	if _, err := l.Ask(ctx, "fail", make([]byte, 4<<20)); err == nil {
		t.Error("asked with too many bytes")
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	_, err = l.Ask(ctx, "fail", []byte{1})
	wantErr(t, "a link that is closed", err, fleet.ErrNoHub)
}

func conformDown(t *testing.T, ctx context.Context, b Bus) {
	if err := b.Exchange.Tell(ID(1), "do", nil); err != nil {
		t.Errorf("a notification without a receiver: %v", err)
	}
	// The request is delivered after the notification. A target that connects later therefore does
	// not receive the notification.
	_, err := b.Exchange.Ask(ctx, ID(1), "do", nil)
	wantErr(t, "a target that never connected", err, fleet.ErrOffline)
	if _, err := b.Exchange.Ask(ctx, "*", "do", nil); err == nil {
		t.Error("asked all targets at once")
	}
	told := make(chan string, 10)
	serve := func(l fleet.Link) {
		err := l.Serve("do", func(_ context.Context, body []byte) ([]byte, error) {
			told <- string(body)
			return append([]byte("done "), body...), nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	linked(t, ctx, b, ID(2), nil)
	l := linked(t, ctx, b, ID(1), serve)
	if got := must[[]byte](t)(b.Exchange.Ask(ctx, ID(1), "do", []byte("it"))); string(got) != "done it" || <-told != "it" {
		t.Errorf("answer %q", got)
	}
	if err := b.Exchange.Tell(ID(1), "do", []byte("that")); err != nil || <-told != "that" {
		t.Errorf("told: %v", err)
	}
	_, err = b.Exchange.Ask(ctx, ID(2), "do", nil)
	wantErr(t, "a target that does not serve the word", err, fleet.ErrOffline)
	_ = l.Close()
	_, err = b.Exchange.Ask(ctx, ID(1), "do", nil)
	wantErr(t, "a target that disconnected", err, fleet.ErrOffline)
}

func conformPresence(t *testing.T, ctx context.Context, b Bus) {
	seen := make(chan string, 100)
	b.Exchange.Presence(func(id fleet.TargetID, here bool) { seen <- fmt.Sprint(id, here) })
	next := func(want string) {
		t.Helper()
		select {
		case got := <-seen:
			if got != want {
				t.Fatalf("saw %s, want %s", got, want)
			}
		case <-ctx.Done():
			t.Fatalf("did not see %s", want)
		}
	}
	one := linked(t, ctx, b, ID(1), nil)
	next(fmt.Sprint(ID(1), true))
	linked(t, ctx, b, ID(2), nil)
	next(fmt.Sprint(ID(2), true))
	second := linked(t, ctx, b, ID(1), nil)
	_ = one.Close()
	_ = second.Close()
	Await(t, "the hub sees it go", func() bool { return slices.Equal(b.Exchange.Connected(), []fleet.TargetID{ID(2)}) })
	// The second connection may have begun after the first one ended: each change is reported, in
	// order.
	for here := true; ; {
		select {
		case got := <-seen:
			if here = !here; got != fmt.Sprint(ID(1), here) {
				t.Fatalf("saw %s, want %v", got, here)
			}
		case <-ctx.Done():
			t.Fatal("did not see the target go")
		}
		if !here && len(seen) == 0 && len(b.Exchange.Connected()) == 1 {
			return
		}
	}
}

func conformKick(t *testing.T, ctx context.Context, b Bus) {
	changes := make(chan bool, 100)
	linked(t, ctx, b, ID(1), func(l fleet.Link) { l.Changes(func(up bool) { changes <- up }) })
	other := make(chan bool, 100)
	linked(t, ctx, b, ID(2), func(l fleet.Link) { l.Changes(func(up bool) { other <- up }) })
	for _, want := range []bool{true, false, true, false, true} {
		if got := <-changes; got != want {
			t.Fatalf("changed to %v, want %v", got, want)
		}
		if want {
			Await(t, "the hub sees it", func() bool { return slices.Contains(b.Exchange.Connected(), ID(1)) })
			b.Exchange.Kick(ID(1))
		}
	}
	b.Exchange.Kick(ID(3))
	if len(other) != 1 {
		t.Error("another target's connection changed")
	}
}

// conformFlood: a target with unlimited requests does not delay other targets, and the hub handles
// a bounded number of its requests at once.
func conformFlood(t *testing.T, ctx context.Context, b Bus) {
	hold := make(chan struct{})
	var now, most atomic.Int64
	if err := b.Exchange.Serve("slow", func(_ context.Context, from fleet.TargetID, _ []byte) ([]byte, error) {
		if from == ID(1) {
			most.Store(max(most.Load(), now.Add(1)))
			<-hold
			now.Add(-1)
		}
		return []byte("ok"), nil
	}); err != nil {
		t.Fatal(err)
	}
	bad, good := linked(t, ctx, b, ID(1), nil), linked(t, ctx, b, ID(2), nil)
	const questions = 200
	errs := make(chan error, questions)
	for range questions {
		go func() {
			_, err := bad.Ask(ctx, "slow", bytes.Repeat([]byte("x"), 1000))
			errs <- err
		}()
	}
	refused := 0
	for range questions - 32 {
		if err := <-errs; err != nil {
			refused++
		}
	}
	if got := must[[]byte](t)(good.Ask(ctx, "slow", nil)); string(got) != "ok" {
		t.Errorf("the other target got %q", got)
	}
	close(hold)
	for range 32 {
		if err := <-errs; err != nil {
			t.Errorf("an accepted request failed: %v", err)
		}
	}
	if refused != questions-32 || most.Load() > 32 {
		t.Errorf("%d refused, %d at once", refused, most.Load())
	}
	if got := must[[]byte](t)(bad.Ask(ctx, "slow", nil)); string(got) != "ok" {
		t.Errorf("afterwards it got %q", got)
	}
}
