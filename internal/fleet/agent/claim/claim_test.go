package claim_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/claim"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
)

// hub returns increasing values and records the claimed values. It is also the connection of the
// agent.
type hub struct {
	fleet.Link
	mu      sync.Mutex
	shown   []int
	given   int
	lost    atomic.Bool // its answers do not arrive
	older   atomic.Bool // it does not support claims
	request func(context.Context, []byte) ([]byte, error)
	changes func(up bool)
}

func (h *hub) Serve(_ string, handle func(context.Context, []byte) ([]byte, error)) error {
	h.request = handle
	return nil
}

func (h *hub) Changes(each func(up bool)) { h.changes = each; each(true) }

func (h *hub) Ask(_ context.Context, _ string, body []byte) ([]byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c, err := fleet.ParseClaim(body)
	if err != nil {
		return nil, err
	}
	n, _ := strconv.Atoi(c.Value)
	h.shown = append(h.shown, n)
	if h.older.Load() {
		return nil, fleet.ErrNoHub
	}
	h.given++
	if h.lost.Load() {
		return nil, errors.New("no answer")
	}
	return json.Marshal(fleet.Claimed{Value: strconv.Itoa(h.given)})
}

// process is one process of an agent, until it is killed.
func process(h *hub, files host.FS) (kill func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	c := claim.Claimer{Files: files, Dir: "/agent", Link: h, Copy: fleet.Copy{Host: "web1"}, Warn: func(string) {}}
	go func() { defer close(ended); _ = c.Run(ctx, func(uint64) {}) }()
	synctest.Wait()
	return func() { cancel(); <-ended }
}

func newDisk(t *testing.T) *mem.FS {
	files := mem.NewFS(mem.Options{})
	if err := errors.Join(files.Mkdir("/agent", 0o700), files.SyncDir("/")); err != nil {
		t.Fatal(err)
	}
	return files
}

// failsAt makes one operation fail, and all later ones too if the disk is gone.
func failsAt(at int, gone bool) func(op, path string) error {
	n := 0
	return func(string, string) error {
		if n++; n == at || gone && n > at {
			return errors.New("the disk is gone")
		}
		return nil
	}
}

// After any killed process, failed operation or power failure, a host claims the last value that it
// received or claimed. Any other value would look like a clone.
func TestOnlyTheNewestValueIsShown(t *testing.T) {
	most := 0
	for seed := range uint64(1500) {
		dice := rand.New(rand.NewPCG(seed, 1))
		synctest.Test(t, func(t *testing.T) {
			h, files := &hub{}, newDisk(t)
			for range 4 {
				kill := process(h, files.Counted(failsAt(1+dice.IntN(12), dice.IntN(2) == 0)))
				h.lost.Store(dice.IntN(4) == 0)
				time.Sleep(time.Duration(dice.IntN(4)) * time.Hour)
				kill()
				h.lost.Store(false)
				if dice.IntN(2) == 0 { // otherwise the process was killed, and the host is unchanged
					files = files.CrashClone(dice)
				}
			}
			process(h, files)()
			for i := 1; i < len(h.shown); i++ {
				if v := h.shown[i]; v != i && v != h.shown[i-1] { // the i-th answer is the value i
					t.Fatalf("seed %d: shown were %v", seed, h.shown)
				}
			}
			most = max(most, h.given)
		})
	}
	if most < 10 {
		t.Errorf("no history has more than %d claims", most)
	}
}

// A process claims at its start, about once an hour, when a hub requests it, and some time after it
// lost a connection.
func TestWhenAnAgentClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hub{}
		kill := process(h, newDisk(t))
		defer func() { kill() }()
		check := func(what string, least, most int) {
			t.Helper()
			synctest.Wait()
			h.mu.Lock()
			defer h.mu.Unlock()
			if n := len(h.shown); n < least || n > most {
				t.Errorf("%s: %d claims: %v", what, n, h.shown)
			}
			h.shown = nil
		}
		check("at the beginning", 1, 1)
		time.Sleep(24 * time.Hour)
		check("in a day", 19, 32)
		if _, err := h.request(t.Context(), nil); err != nil {
			t.Error(err)
		}
		check("on request", 1, 1)
		h.changes(false)
		time.Sleep(3 * time.Hour)
		check("without a connection", 0, 0)
		h.changes(true)
		time.Sleep(10 * time.Minute)
		check("after a connection was lost", 1, 1)
		h.older.Store(true)
		time.Sleep(24 * time.Hour)
		check("of a hub that is older", 19, 40)
	})
}

// After a lost answer, the agent claims again with the same value.
func TestLostAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hub{}
		h.lost.Store(true)
		kill := process(h, newDisk(t))
		defer func() { kill() }()
		time.Sleep(time.Minute)
		h.lost.Store(false)
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		h.mu.Lock()
		defer h.mu.Unlock()
		if n := len(h.shown); n < 3 || h.shown[1] != 0 || h.shown[n-1] == 0 {
			t.Errorf("shown were %v", h.shown)
		}
	})
}
