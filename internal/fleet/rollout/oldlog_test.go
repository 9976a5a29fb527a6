package rollout_test

import (
	"encoding/json"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/rollout"
)

// oldLog is the log of a hub before additions. An operator excluded the target b from the first content.
const oldLog = `
{"kind":"moved","lane":"main","targets":["a","b"],"at":1}
{"kind":"created","rollout":"r1","at":2,"created":{"lane":"main","cause":"","changes":[{"part":"db","digest":"d1"},
 {"part":"web","digest":"w1"}],"strategy":{"name":"s"},"waves":[{"name":"all","members":["a","b"]}]}}
{"kind":"granted","rollout":"r1","target":"a","at":3}
{"kind":"skipped","rollout":"r1","target":"b","at":3}
{"kind":"ready","rollout":"r1","target":"a","at":4}
{"kind":"ended","rollout":"r1","phase":"completed-with-exceptions","at":5}
{"kind":"created","rollout":"r2","at":6,"created":{"lane":"main","cause":"","changes":[{"part":"web","digest":"w2"}],
 "strategy":{"name":"s"},"waves":[{"name":"all","members":["a","b"]}]}}
{"kind":"ended","rollout":"r2","phase":"aborted","at":7}`

// TestOldLog: a log without the events and fields of additions has the same state as before.
func TestOldLog(t *testing.T) {
	s := rollout.NewState()
	for d := json.NewDecoder(strings.NewReader(oldLog)); d.More(); {
		var e rollout.Event
		if err := d.Decode(&e); err != nil {
			t.Fatal(err)
		}
		s.Fold(e)
	}
	o, _ := s.Snapshot(100)
	o.Rollouts = nil
	const want = `{"rollouts":null,"stable":{"main":{"db":"d1","web":"w1"}},` +
		`"held":[{"lane":"main","change":{"part":"web","digest":"w2"},"rollout":"r2"}],` +
		`"skipped":[{"target":"b","change":{"part":"db","digest":"d1"},"rollout":"r1"},` +
		`{"target":"b","change":{"part":"web","digest":"w1"},"rollout":"r1"}],` +
		`"next":3,"lanes":{"main":["a","b"]}}`
	if got, err := json.Marshal(o); err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	if ok, why := s.Allowed("b", "main", rollout.Change{Part: "web", Digest: "w1", Adds: true}); ok {
		t.Errorf("the addition of skipped content is allowed: %s", why)
	}
}
