package scopes

import (
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/coordination/task"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/lang/query"
)

// note stores that a target has an assignment of a time that the hubs lack.
func (s *site) note(h *Scopes, issued time.Time) {
	s.Helper()
	if err := NoteLoss(s.Context(), h.Records, h.Events, bustest.ID(0), issued); err != nil {
		s.Fatal(err)
	}
}

// TestLoss: tasks that are not known as done become unknown once for each loss, and done ones remain done.
func TestLoss(t *testing.T) {
	s := newSite(t)
	h := s.hub()
	s.result(0, fleet.CheckFailed)
	h.Declare(revision("c"), db("a"))
	s.tidy(h)
	s.wantPhase(h, task.Waiting)
	s.note(h, s.now.Add(-time.Hour))
	s.tidy(h)
	s.wantPhase(h, task.Unknown)
	s.wantTexts("the hubs lost data")
	_, a, err := h.decide(t.Context(), "cluster/db/load", task.Event{Kind: task.Retry, By: "kim"}, false)
	if err != nil || a.Refused != "" {
		t.Fatal(a, err)
	}
	s.now = s.now.Add(time.Minute)
	s.note(h, s.now.Add(-time.Hour)) // another target proves the same loss
	s.tidy(h)
	s.wantPhase(h, task.Waiting)
	s.result(0, fleet.CheckOK)
	s.tidy(h)
	r := s.job(h)
	s.answers(h, r.ID, fleet.JobAnswer{ID: r.ID, Task: fleet.TaskDone})
	s.now = s.now.Add(time.Minute)
	s.note(h, s.now.Add(-time.Second)) // another loss
	s.tidy(h)
	s.wantPhase(h, task.Done)
}

// TestContentAfterLoss: content of a commit from before a loss is unknown although the task is known, and later content
// is not.
func TestContentAfterLoss(t *testing.T) {
	for name, c := range map[string]struct {
		after time.Duration
		want  task.Phase
	}{
		"before":      {-time.Hour, task.Unknown},
		"clock ahead": {time.Minute, task.Unknown},
		"after":       {time.Hour, task.Waiting},
	} {
		s := newSite(t)
		h := s.hub()
		s.result(0, fleet.CheckFailed)
		h.Declare(revision("c"), db("a"))
		s.tidy(h)
		s.note(h, s.now.Add(-time.Hour))
		s.tidy(h)
		h.Declare(fleet.Revision{Commit: "d", Time: s.now.Add(c.after).Unix()}, db("b"))
		s.tidy(h)
		if p := s.state(h).Phase(); p != c.want {
			t.Errorf("%s: the task is %s", name, p)
		}
	}
}

// TestNothingBeginsAfterStart: targets connect again before a task begins, so that they can prove a loss of data.
func TestNothingBeginsAfterStart(t *testing.T) {
	s := newSite(t)
	h := s.hub()
	h.began = s.now
	h.Declare(revision("c"), db("a"))
	s.tidy(h)
	s.wantPhase(h, task.Waiting)
	all, err := Service{h}.Tasks(t.Context())
	if err != nil || all[0].Waits == "" {
		t.Errorf("%+v, %v", all, err)
	}
	s.now = s.now.Add(settleFor)
	s.tidy(h)
	s.wantPhase(h, task.Claimed)
}

// TestRestoredAfterLoss: a backup that was restored after a loss is the newest time that counts.
func TestRestoredAfterLoss(t *testing.T) {
	s := newSite(t)
	h := s.hub()
	epoch := records.Epoch{Number: 2, Restored: s.now.Unix()}
	if err := h.Records.Epochs.Put(t.Context(), records.EpochKey, epoch, 0); err != nil {
		t.Fatal(err)
	}
	s.note(h, s.now.Add(-time.Hour))
	if _, _, noted := h.Records.Restorations.Get(records.LossKey); noted {
		t.Error("the targets prove the loss that the backup ended")
	}
	h.Declare(revision("c"), query.Scopes{})
	s.tidy(h)
	if at := h.restored(); at != s.now.Unix()*1000 {
		t.Errorf("the time is %d", at)
	}
}
