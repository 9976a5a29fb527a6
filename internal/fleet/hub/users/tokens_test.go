package users

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/pki"
)

// A token for another fleet would enrol targets in this one, against the intention.
func TestTokenForAnotherFleet(t *testing.T) {
	a := &Accounts{Config{Fleet: "acme"}}
	for name, ok := range map[string]bool{"": true, "acme": true, "prod": false, "Acme": false} {
		err := a.checkFleet(name)
		var refused *api.Refusal
		if (err == nil) != ok || err != nil && (!errors.As(err, &refused) || refused.Status != api.BadRequest ||
			refused.Hint == "") {
			t.Errorf("the fleet %q: %v", name, err)
		}
	}
}

// TestNumbersOfTokens: negative numbers and wrong labels in a request for a token are refused.
func TestNumbersOfTokens(t *testing.T) {
	for _, r := range []document.TokenRequest{{Uses: -1}, {Expires: -1}, {Labels: map[string]string{"a b": "c"}}} {
		var refused *api.Refusal
		if _, err := (&Accounts{}).CreateToken(t.Context(), api.Caller{}, r); !errors.As(err, &refused) ||
			refused.Status != api.BadRequest || refused.Hint == "" {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if err := checkToken(document.TokenRequest{Labels: map[string]string{"a": "c"}, Uses: 1, Expires: 1}); err != nil {
		t.Error(err)
	}
}

// Tokens that have been unusable for the retention time of events are removed. Unreadable ones
// stay.
func TestTokensAreForgotten(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	tokens := bustest.NewStore()
	const day = 24 * time.Hour
	a := &Accounts{Config{Now: func() time.Time { return now }, Keep: 90 * day, Records: &records.Table{}}}
	a.Records.Tokens = records.NewLastKnown(tokens, nil)
	ago := func(d time.Duration) int64 { return now.Add(-d).Unix() }
	put := func(id string, text []byte) {
		t.Helper()
		if _, err := tokens.Put(t.Context(), id, text); err != nil {
			t.Fatal(err)
		}
	}
	for id, token := range map[string]pki.StoredToken{
		"good":      {Terms: pki.Terms{Expires: ago(-day)}},
		"expired":   {Terms: pki.Terms{Expires: ago(89 * day)}},
		"forgotten": {Terms: pki.Terms{Expires: ago(91 * day)}},
		"withdrawn": {Terms: pki.Terms{Expires: ago(-day)}, Withdrawn: ago(91 * day)},
	} {
		text, err := json.Marshal(token)
		if err != nil {
			t.Fatal(err)
		}
		put(id, text)
	}
	put("newer", []byte("what a newer hub wrote"))
	for range 2 {
		if err := a.PruneTokens(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	left, err := tokens.All(t.Context())
	if err != nil || len(left) != 3 {
		t.Errorf("%d are left, %v", len(left), err)
	}
	for _, e := range left {
		if e.Key == "forgotten" || e.Key == "withdrawn" {
			t.Errorf("%s is still there", e.Key)
		}
	}
}
