package slots_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/executor/agentsocket"
	"fettle.dev/fettle/internal/executor/slots"
)

// TestDescribe: one sentence for each lock, or the reason for which the state of the locks is unknown.
func TestDescribe(t *testing.T) {
	for answer, want := range map[string]string{
		`[{"name":"a","free":true},{"name":"b","why":"taken by web2"},{"name":"c","error":"no hub answers"}]`: "a slot of " +
			"the lock a is free; a run would wait now: taken by web2; cannot determine whether a slot of the lock c is free: " +
			"no hub answers",
		`[]`:        "",
		`{}`:        "cannot determine whether the slots are free: json: cannot unmarshal object",
		"!refused":  "cannot determine whether the slots are free: refused",
		"!no agent": "without an agent, the run would be refused: the agent of this host does not run",
	} {
		c := &slots.Client{Ask: func(_ context.Context, question []byte) ([]byte, error) {
			if string(question) != `{"names":["a","b","c"]}` {
				t.Errorf("the question is %s", question)
			}
			if answer == "!no agent" {
				return nil, agentsocket.ErrNoAgent
			}
			if text, is := strings.CutPrefix(answer, "!"); is {
				return nil, errors.New(text)
			}
			return []byte(answer), nil
		}}
		if got := strings.Join(c.Describe(t.Context(), []string{"a", "b", "c"}), "; "); !strings.HasPrefix(got, want) ||
			(want == "") != (got == "") {
			t.Errorf("%s: %q, want %q", answer, got, want)
		}
	}
	if got := (&slots.Client{}).Describe(t.Context(), []string{"a"}); got != nil {
		t.Errorf("without Ask: %q", got)
	}
}
