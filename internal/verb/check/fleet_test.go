package check

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/step"
)

// hubs are hubs that answer requests of a step.
type hubs struct {
	fake
	answer func(fleetRequest) (string, error)
	asked  []fleetRequest
}

func (h *hubs) Fleet(_ context.Context, request []byte) ([]byte, error) {
	var r fleetRequest
	if err := json.Unmarshal(request, &r); err != nil {
		return nil, err
	}
	h.asked = append(h.asked, r)
	text, err := h.answer(r)
	return []byte(text), err
}

func wait(t *testing.T, ctx context.Context, net Prober, words string) error {
	t.Helper()
	list, ds := step.Parse("x.steps", []byte("WAIT a "+words+"\n"))
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	return Wait(ctx, mem.New(mem.Options{}), net, list[0], time.Hour)
}

// TestBarrierOpens: the step repeats its arrival until the barrier opens.
func TestBarrierOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hubs{}
		h.answer = func(fleetRequest) (string, error) {
			switch len(h.asked) {
			case 1:
				return "", errors.New("no hub answers")
			case 2:
				return `{"why":"1 of 2"}`, nil
			}
			return `{"done":true,"generation":3}`, nil
		}
		began := time.Now()
		if err := wait(t, t.Context(), h, "barrier=schema"); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != 2*fleetPause {
			t.Errorf("it took %s", took)
		}
		for _, r := range h.asked {
			if r.Action != "arrive" || r.Name != "schema" || r.Run == "" || r != h.asked[0] {
				t.Errorf("the request is %+v", r)
			}
		}
		first := h.asked[0].Run
		_ = wait(t, t.Context(), h, "barrier=schema")
		if h.asked[3].Run == first {
			t.Error("two executions have one arrival")
		}
	})
}

// TestArrivalIsWithdrawn: after the timeout, or if the run ends, the target does not wait any more.
func TestArrivalIsWithdrawn(t *testing.T) {
	for _, opened := range []bool{false, true} {
		for _, cancelled := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				h := &hubs{}
				h.answer = func(r fleetRequest) (string, error) {
					if r.Action == "withdraw" && opened {
						return `{"done":true}`, nil
					}
					return `{"why":"1 of 2 required members"}`, nil
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if cancelled {
					time.AfterFunc(time.Minute, cancel)
				}
				err := wait(t, ctx, h, "barrier=schema timeout=2m")
				want := "still failing after 2m0s: 1 of 2 required members"
				if cancelled {
					want = "context canceled"
				}
				if opened != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
					t.Errorf("opened %v, cancelled %v: %v", opened, cancelled, err)
				}
				last := h.asked[len(h.asked)-1]
				if last.Action != "withdraw" || last.Run != h.asked[0].Run {
					t.Errorf("the last request is %+v", last)
				}
			})
		}
	}
}

// TestSignalSteps: a step waits for a signal, or sends one. The age of a signal grows while the step waits.
func TestSignalSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hubs{}
		h.answer = func(fleetRequest) (string, error) {
			if len(h.asked)%2 == 1 {
				return `{"why":"it was not sent"}`, nil
			}
			return `{"done":true,"payload":"x"}`, nil
		}
		for _, words := range []string{"signal=start", "signal=start since=run", "send=start payload=v2"} {
			if err := wait(t, t.Context(), h, words); err != nil {
				t.Error(err)
			}
		}
		for i, want := range []fleetRequest{{Action: "signal", Name: "start"}, {Action: "signal", Name: "start"},
			{Action: "signal", Name: "start", Age: int64(time.Hour)},
			{Action: "signal", Name: "start", Age: int64(time.Hour + fleetPause)},
			{Action: "send", Name: "start", Payload: "v2"}, {Action: "send", Name: "start", Payload: "v2"}} {
			if h.asked[i] != want {
				t.Errorf("%d: %+v, want %+v", i, h.asked[i], want)
			}
		}
		if err := wait(t, t.Context(), &fake{}, "signal=start"); err == nil ||
			!strings.Contains(err.Error(), "not in a fleet") {
			t.Errorf("without an agent: %v", err)
		}
		if err := wait(t, t.Context(), &fake{status: 200}, "http=http://h/"); err != nil {
			t.Error(err)
		}
	})
}
