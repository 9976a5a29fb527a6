package jobs

import (
	"context"
	"errors"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// speechless is a store that does not answer.
type speechless struct{ *bustest.Store }

func (speechless) Get(context.Context, string) (fleet.Entry, error) {
	return fleet.Entry{}, fleet.ErrNoAnswer
}

// A hub whose mirror does not have a job yet reads it before it acknowledges an answer, because the
// agent then deletes the answer. If the store does not answer, the agent keeps it.
func TestAnswerToAJobThatTheMirrorLacks(t *testing.T) {
	store := bustest.NewStore()
	text, err := records.FormatJob(records.Job{Job: fleet.Job{ID: "j1", What: fleet.JobVerify},
		Pending: []fleet.TargetID{"a"}})
	if err == nil {
		_, err = store.Put(t.Context(), "j1", text)
	}
	if err != nil {
		t.Fatal(err)
	}
	jobs := records.NewMirror(store, "", records.ParseJob)
	for id, want := range map[string]bool{"j1": true, "j2": false} {
		if waits, err := awaited(t.Context(), jobs, id, "a", records.JobAnswer{}); waits != want || err != nil {
			t.Errorf("%s: %v, %v", id, waits, err)
		}
	}
	if waits, err := awaited(t.Context(), jobs, "j1", "b", records.JobAnswer{}); waits || err != nil {
		t.Errorf("of another target: %v, %v", waits, err)
	}
	jobs = records.NewMirror(speechless{store}, "", records.ParseJob)
	if _, err := awaited(t.Context(), jobs, "j1", "a", records.JobAnswer{}); !errors.Is(err, fleet.ErrNoAnswer) {
		t.Errorf("without an answer of the store: %v", err)
	}
}
