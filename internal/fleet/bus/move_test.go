package bus_test

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
)

// TestAgentsMove: a hub moves an agent to another hub that the agent knows. An agent with an open stream stays, unless
// the hub leaves.
func TestAgentsMove(t *testing.T) {
	a := newAuthority(t)
	one, two := a.listen(t), a.listen(t)
	id := bustest.ID(1)
	conf := a.link(one, id)
	both := []string{"tls://" + one.Address().String(), "tls://" + two.Address().String()}
	var known atomic.Pointer[[]string]
	knows := func(some []string) { known.Store(&some) }
	knows(both[:1])
	conf.Where = func() []string { return *known.Load() }
	l, err := bus.Dial(t.Context(), conf)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	here := func(srv *bus.Server) func() bool {
		return func() bool { return srv.Exchange().IsConnected(id) }
	}
	move := func(from, to *bus.Server, leaves bool) (answer fleet.MoveAnswer) {
		t.Helper()
		body, err := json.Marshal(fleet.MoveRequest{BusURLs: []string{"tls://" + to.Address().String()}, Leaves: leaves})
		if err == nil {
			body, err = from.Exchange().Ask(t.Context(), id, fleet.MessageMove, body)
		}
		if err == nil {
			err = json.Unmarshal(body, &answer)
		}
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	refuses := func(answer fleet.MoveAnswer, why string) {
		t.Helper()
		if answer.Moves || !strings.Contains(answer.Why, why) {
			t.Errorf("%+v, want a refusal with %q", answer, why)
		}
	}
	serve := make(chan struct{})
	if err := l.ServeStreams("work", func(context.Context, []byte, io.ReadWriteCloser) { <-serve }); err != nil {
		t.Fatal(err)
	}
	bustest.Await(t, "the agent is connected", here(one))
	refuses(move(one, two, true), "no other address")
	knows(both)
	refuses(move(one, one, true), "no other address")

	s, err := one.Exchange().Open(t.Context(), id, "work", nil)
	if err != nil {
		t.Fatal(err)
	}
	refuses(move(one, two, false), "a stream is open")
	if !here(one)() {
		t.Error("an agent with an open stream moved")
	}
	if !move(one, two, true).Moves {
		t.Error("an agent does not move from a hub that leaves")
	}
	bustest.Await(t, "the agent is connected to the other hub", here(two))
	bustest.Await(t, "the agent has left the first hub", func() bool { return !here(one)() })
	_ = s.Close()
	close(serve)
	bustest.Await(t, "the agent moves back", func() bool { return here(one)() || move(two, one, false).Moves })
	bustest.Await(t, "the agent is connected to the first hub again", here(one))
}
