package slots

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/executor/slots"
	"fettle.dev/fettle/internal/fleet"
)

// TestDescribe: the agent asks a hub about each lock, and acquires nothing.
func TestDescribe(t *testing.T) {
	var asked []fleet.SlotRequest
	k := &Keeper{Ask: func(_ context.Context, r fleet.SlotRequest) (fleet.SlotAnswer, error) {
		asked = append(asked, r)
		switch r.Lock {
		case "free":
			return fleet.SlotAnswer{Free: true}, nil
		case "taken":
			return fleet.SlotAnswer{Why: "taken by web2"}, nil
		}
		return fleet.SlotAnswer{}, fleet.ErrNoHub
	}}
	c := &slots.Client{Ask: k.Describe}
	got := strings.Join(c.Describe(t.Context(), []string{"free", "taken", "other"}), "; ")
	if want := "a slot of the lock free is free; a run would wait now: taken by web2; " +
		"cannot determine whether a slot of the lock other is free: " + fleet.ErrNoHub.Error(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, r := range asked {
		if r.Action != fleet.SlotObserve {
			t.Errorf("the agent sent %+v", r)
		}
	}
	if _, err := k.Describe(t.Context(), []byte("{")); err == nil {
		t.Error("a question that is not JSON was accepted")
	}
	many := `{"names":[` + strings.Repeat(`"a",`, maxNames) + `"a"]}`
	if _, err := k.Describe(t.Context(), []byte(many)); !strings.Contains(fmt.Sprint(err), "the maximum is") {
		t.Errorf("too many names: %v", err)
	}
}
