package hub_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/locks"
	"fettle.dev/fettle/internal/fleet/hub/locks/lockstest"
	"fettle.dev/fettle/internal/fleet/pki"
)

// contest are targets that request the slots of one lock through all hubs of a fleet, again and again. They repeat a
// request without an answer, at another hub.
type contest struct {
	*several
	slots   int
	history lockstest.History
	all     []*contender
	working atomic.Int32 // targets that have a slot and work
	most    atomic.Int32
	grants  atomic.Int32
	group   sync.WaitGroup
	stopped chan struct{}
}

// contender is one of these targets. It uses the connection of its agent, or the FleetLock protocol.
type contender struct {
	*contest
	number int
	name   string
	id     *pki.Identity
	link   *bus.Link // nil: FleetLock
	token  uint64    // of the slot; only agents use it
	client http.Client
	random *rand.Rand
}

const contestLock = "lock \"reboots\" {\n  slots   = 2\n  lease   = \"1h\"\n  reboots = true\n}\n"

// contend declares a lock with two slots, and lets targets request it until end is called. End returns when no target
// has a slot, and checks the answers.
func (w *several) contend(hosts int) (c *contest) {
	w.t.Helper()
	c = &contest{several: w, slots: 2, stopped: make(chan struct{})}
	w.commit(map[string]string{"fettle.hcl": webGroup + contestLock})
	var tok document.NewToken
	w.hubs[0].must("POST", "/v1/tokens", document.TokenRequest{Labels: map[string]string{"role": "db"}, Uses: hosts}, &tok)
	for i := range hosts {
		w.api = w.hubs[i%len(w.hubs)].api
		h := &contender{contest: c, number: i, name: fmt.Sprint("db", i), random: rand.New(rand.NewPCG(1, uint64(i)))}
		var link *bus.Link
		if h.id, link = w.agent(h.name, tok.Secret); i%2 == 0 {
			h.link = link
		}
		tls, err := idTLS(h.id)()
		if err != nil {
			w.t.Fatal(err)
		}
		h.client.Transport = &http.Transport{TLSClientConfig: tls}
		w.t.Cleanup(h.client.CloseIdleConnections)
		c.all = append(c.all, h)
	}
	until(w.t, "the lock is declared", func() ([]document.Lock, bool) { l := c.holders(); return l, len(l) == 1 })
	for _, h := range c.all {
		c.group.Go(h.run)
	}
	return c
}

// holders returns the locks as a hub shows them.
func (c *contest) holders() []document.Lock {
	var p document.LockPage
	for _, o := range c.hubs {
		if o.ask("GET", "/v1/locks", nil, &p) == nil {
			break
		}
	}
	return p.Locks
}

// end stops the contest.
func (c *contest) end() {
	c.t.Helper()
	close(c.stopped)
	c.group.Wait()
	until(c.t, "all slots are free", func() ([]document.Lock, bool) {
		all := c.holders()
		return all, len(all) == 1 && len(all[0].Holders) == 0
	})
	c.t.Logf("%d grants to %d targets, and at most %d worked", c.grants.Load(), len(c.all), c.most.Load())
	c.history.Check(c.t, lockstest.Model(c.slots, true))
}

func (c *contest) over() bool {
	select {
	case <-c.stopped:
		return true
	default:
		return false
	}
}

func (h *contender) pause(most time.Duration) {
	time.Sleep(time.Duration(h.random.Int64N(int64(most))))
}

// run requests slots until the contest is over. It then has none. After a request without an answer, it either repeats
// the request or releases the slot that it may have.
func (h *contender) run() {
	for !h.over() {
		h.pause(1500 * time.Millisecond)
		switch h.do(false) {
		case lockstest.Granted:
			h.work()
			h.insist()
		case lockstest.Unknown:
			if h.random.IntN(2) == 0 {
				h.insist()
			}
		}
	}
	h.insist()
}

// work is what a target does with a slot.
func (h *contender) work() {
	n := h.working.Add(1)
	if n > int32(h.slots) {
		h.t.Errorf("%d targets have one of %d slots", n, h.slots)
	}
	for m := h.most.Load(); n > m && !h.most.CompareAndSwap(m, n); m = h.most.Load() {
	}
	h.grants.Add(1)
	h.pause(100 * time.Millisecond)
	if got := h.do(false); got == lockstest.Full {
		h.t.Errorf("%s cannot renew its slot", h.name)
	}
	h.working.Add(-1)
}

// insist releases the slot until a hub confirms it.
func (h *contender) insist() {
	for h.do(true) != lockstest.Granted {
		h.pause(time.Second)
	}
}

// do sends one request, and waits for its answer for a short time.
func (h *contender) do(release bool) lockstest.Result {
	return h.history.Do(h.number, lockstest.Request{Owner: h.name, Release: release}, func() lockstest.Result {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		if h.link != nil {
			return h.overLink(ctx, release)
		}
		return h.overHTTP(ctx, release)
	})
}

// overLink sends a request as an agent does.
func (h *contender) overLink(ctx context.Context, release bool) lockstest.Result {
	r := fleet.RebootRequest{Action: fleet.RebootAcquire, Lock: "reboots"}
	if release {
		r.Action, r.Token = fleet.RebootRelease, h.token
	}
	body, err := json.Marshal(r)
	if err == nil {
		body, err = h.link.Ask(ctx, fleet.MessageReboot, body)
	}
	var slot fleet.RebootSlot
	if err == nil {
		err = json.Unmarshal(body, &slot)
	}
	h.token = slot.Token
	switch {
	case err != nil && (strings.Contains(err.Error(), "more than half") || strings.Contains(err.Error(), "more than 20")):
		return lockstest.Refused
	case err != nil:
		return lockstest.Unknown
	case release || slot.Granted:
		return lockstest.Granted
	case strings.Contains(slot.Why, "waits for a slot"):
		return lockstest.Full
	}
	return lockstest.Refused
}

// overHTTP sends a request with the FleetLock protocol to any of the hubs.
func (h *contender) overHTTP(ctx context.Context, release bool) lockstest.Result {
	path := locks.PreRebootPath
	if release {
		path = locks.SteadyStatePath
	}
	body := fmt.Appendf(nil, `{"client_params": {"id": %q, "group": "reboots"}}`, h.name)
	url := h.hubs[h.random.IntN(len(h.hubs))].api + path
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return lockstest.Refused
	}
	r.Header.Set("fleet-lock-protocol", "true")
	resp, err := h.client.Do(r)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return lockstest.Refused
	}
	if err != nil {
		return lockstest.Unknown
	}
	defer resp.Body.Close()
	var answer struct{ Kind, Value string }
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return lockstest.Unknown
	}
	switch answer.Kind {
	case "slot_acquired", "slot_released":
		return lockstest.Granted
	case "slots_taken":
		return lockstest.Full
	case "no_quorum", "too_many_requests", "unknown_group":
		return lockstest.Refused
	case "no_answer":
		return lockstest.Unknown
	}
	h.t.Errorf("%s: the answer is %d %+v", h.name, resp.StatusCode, answer)
	return lockstest.Unknown
}
