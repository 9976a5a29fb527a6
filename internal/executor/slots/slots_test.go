package slots_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/agentsocket"
	"fettle.dev/fettle/internal/executor/slots"
	"fettle.dev/fettle/internal/hint"
)

// agent is the other end of the connections of a client. The test plays the agent.
type agent struct {
	t     *testing.T
	conns chan net.Conn
	gone  atomic.Bool // no agent runs
	now   atomic.Int64
}

func newAgent(t *testing.T) (*agent, *slots.Client) {
	a := &agent{t: t, conns: make(chan net.Conn, 10)}
	return a, &slots.Client{Every: time.Millisecond, Clock: func() time.Duration { return time.Duration(a.now.Load()) },
		Dial: func(context.Context) (io.ReadWriteCloser, error) {
			if a.gone.Load() {
				return nil, agentsocket.ErrNoAgent
			}
			x, y := net.Pipe()
			a.conns <- y
			return x, nil
		}}
}

// talk is one connection.
type talk struct {
	net.Conn
	t   *testing.T
	in  *json.Decoder
	out *json.Encoder
}

func (a *agent) accept() talk {
	c := <-a.conns
	a.t.Cleanup(func() { _ = c.Close() })
	return talk{c, a.t, json.NewDecoder(c), json.NewEncoder(c)}
}

func (c talk) expect(want slots.Request) {
	c.t.Helper()
	var got slots.Request
	if err := c.in.Decode(&got); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		c.t.Errorf("the request is %+v, want %+v: %v", got, want, err)
	}
}

func (c talk) send(a slots.Answer) {
	c.t.Helper()
	if err := c.out.Encode(a); err != nil {
		c.t.Errorf("cannot answer: %v", err)
	}
}

// granted is a grant of one slot until a time.
func granted(token uint64, until time.Duration) slots.Answer {
	return slots.Answer{Granted: map[string]uint64{"a": token}, Until: until}
}

var first = slots.Request{Acquire: []string{"a"}, Wait: executor.LockWait}

// hold acquires a slot with the token 7 until 10.
func (a *agent) hold(c *slots.Client) (executor.Slots, talk) {
	a.t.Helper()
	conn := make(chan talk)
	go func() {
		x := a.accept()
		x.expect(first)
		x.send(granted(7, 10))
		conn <- x
	}()
	s, err := c.Acquire(a.t.Context(), []string{"a"}, func(string) {})
	if err != nil {
		a.t.Fatal(err)
	}
	return s, <-conn
}

// release releases slots. The agent acknowledges it.
func (c talk) release(s executor.Slots) {
	done := make(chan struct{})
	go func() { defer close(done); s.Release() }()
	c.expect(slots.Request{Release: true})
	c.send(slots.Answer{Released: true})
	<-done
}

func isLost(s executor.Slots) bool {
	select {
	case <-s.Lost():
		return true
	default:
		return false
	}
}

// TestAcquire: the client shows each reason once, and has the tokens of the grant. It releases the slots.
func TestAcquire(t *testing.T) {
	a, c := newAgent(t)
	conn := make(chan talk)
	go func() {
		x := a.accept()
		x.expect(first)
		for _, why := range []string{"one", "one", "two", "one"} {
			x.send(slots.Answer{Waiting: why})
		}
		x.send(granted(7, 10))
		conn <- x
	}()
	var told []string
	s, err := c.Acquire(t.Context(), []string{"a"}, func(text string) { told = append(told, text) })
	if err != nil {
		t.Fatal(err)
	}
	x := <-conn
	if !slices.Equal(told, []string{"one", "two", "one"}) || s.Tokens()["a"] != 7 || isLost(s) {
		t.Errorf("told %q, the tokens are %v", told, s.Tokens())
	}
	x.release(s)
	if _, err := x.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the connection is open after the release: %v", err)
	}
}

// TestNoSlot: without an agent, after a refusal, and after an end of the agent, the run does not begin.
func TestNoSlot(t *testing.T) {
	for name, c := range map[string]struct {
		answer     func(x talk)
		gone       bool
		want, next string
	}{
		"refused":  {func(x talk) { x.send(slots.Answer{Error: "taken by web2"}) }, false, "needs a: taken by web2", "later"},
		"ended":    {func(x talk) { _ = x.Close() }, false, "needs a: EOF", "later"},
		"no JSON":  {func(x talk) { _, _ = io.WriteString(x, "what?\n") }, false, "invalid character", "later"},
		"no agent": {nil, true, "does not run", "Start the agent"},
	} {
		t.Run(name, func(t *testing.T) {
			a, client := newAgent(t)
			a.gone.Store(c.gone)
			if !c.gone {
				go func() {
					x := a.accept()
					x.expect(first)
					c.answer(x)
				}()
			}
			_, err := client.Acquire(t.Context(), []string{"a"}, func(string) {})
			next, _ := hint.Of(err)
			if !errors.Is(err, executor.ErrNoSlot) || !strings.Contains(err.Error(), c.want) || !strings.Contains(next, c.next) {
				t.Errorf("%v (%s)", err, next)
			}
		})
	}
}

// TestCancel: a canceled run no longer waits, and disconnects.
func TestCancel(t *testing.T) {
	a, c := newAgent(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		x := a.accept()
		x.expect(first)
		x.send(slots.Answer{Waiting: "taken"})
		_, err := x.Read(make([]byte, 1))
		ended <- err
	}()
	_, err := c.Acquire(ctx, []string{"a"}, func(string) { cancel() })
	if !errors.Is(err, context.Canceled) || !errors.Is(err, executor.ErrNoSlot) {
		t.Errorf("%v", err)
	}
	if err := <-ended; err == nil {
		t.Error("the run did not disconnect")
	}
}

// TestLost: slots are lost when their time is over, if the agent does not renew them, and if the agent refuses.
func TestLost(t *testing.T) {
	for name, lose := range map[string]func(a *agent, x talk) talk{
		"time": func(a *agent, x talk) talk {
			x.send(granted(7, 20)) // renewed
			x.send(granted(7, 30))
			x.send(slots.Answer{Waiting: "the client has read the renewals"})
			a.now.Store(30)
			return x
		},
		"refused": func(_ *agent, x talk) talk {
			x.send(slots.Answer{Error: "the lease ended"})
			return x
		},
		"another token": func(_ *agent, x talk) talk {
			x.send(granted(8, 1000))
			return x
		},
		"another lock": func(_ *agent, x talk) talk {
			x.send(slots.Answer{Granted: map[string]uint64{"b": 7}, Until: 99})
			return x
		},
		"no agent": func(a *agent, x talk) talk {
			a.gone.Store(true)
			_ = x.Close()
			a.now.Store(10)
			return x
		},
		"next agent": func(a *agent, x talk) talk {
			_ = x.Close()
			y := a.accept()
			y.expect(slots.Request{Acquire: []string{"a"}, Held: map[string]uint64{"a": 7}})
			y.send(granted(9, 1000))
			return y
		},
	} {
		t.Run(name, func(t *testing.T) {
			a, c := newAgent(t)
			s, x := a.hold(c)
			a.now.Store(9)
			x = lose(a, x)
			<-s.Lost()
			a.gone.Store(true)
			_ = x.Close()
			s.Release() // possible nevertheless
		})
	}
}

// TestNextAgent: the next process of the agent renews the slots, and releases them. The run continues.
func TestNextAgent(t *testing.T) {
	a, c := newAgent(t)
	s, x := a.hold(c)
	_ = x.Close()
	refused := a.accept()
	refused.expect(slots.Request{Acquire: []string{"a"}, Held: map[string]uint64{"a": 7}})
	refused.send(slots.Answer{Error: "no hub answers"}) // the client tries again
	y := a.accept()
	y.expect(slots.Request{Acquire: []string{"a"}, Held: map[string]uint64{"a": 7}})
	y.send(granted(7, 100))
	y.send(slots.Answer{Waiting: "the client has read the grant"})
	a.now.Store(50)
	y.release(s)
	if isLost(s) {
		t.Error("the slots are lost")
	}
}

// TestReleaseWithoutAgent: a release ends if no agent answers.
func TestReleaseWithoutAgent(t *testing.T) {
	a, c := newAgent(t)
	s, x := a.hold(c)
	a.gone.Store(true)
	done := make(chan struct{})
	go func() { defer close(done); s.Release() }()
	x.expect(slots.Request{Release: true})
	_ = x.Close() // killed before the answer
	<-done
	if isLost(s) {
		t.Error("the slots are lost after the release")
	}
}
