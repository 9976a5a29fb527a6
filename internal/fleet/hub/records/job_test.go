package records

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
)

// The last answer of a target wins, except answers that arrive late.
func TestAnswersOfAJob(t *testing.T) {
	end := AnswerOf(fleet.JobAnswer{Result: &fleet.CommandResult{Exit: 3, Stdout: "no"}}, time.Unix(9, 0))
	if !end.HasOutput || end.Result.Stdout != "" || end.Result.Exit != 3 {
		t.Fatalf("%+v", end)
	}
	taken, gone := JobAnswer{At: 1, Accepted: true}, JobAnswer{At: 2, Cancelled: true}
	for name, c := range map[string]struct{ before, then, want []JobAnswer }{
		"taken, then its end":                     {then: []JobAnswer{taken, end}, want: []JobAnswer{end}},
		"its end, then that it was taken":         {then: []JobAnswer{end, taken}, want: []JobAnswer{end}},
		"twice":                                   {then: []JobAnswer{end, {At: 10}}, want: []JobAnswer{end}},
		"withdrawn, but it had begun":             {then: []JobAnswer{gone, taken}, want: []JobAnswer{taken}},
		"withdrawn, taken, and left by the agent": {then: []JobAnswer{gone, taken, gone}, want: []JobAnswer{gone}},
		"withdrawn, and it had ended":             {then: []JobAnswer{gone, end}, want: []JobAnswer{end}},
	} {
		r := Job{Pending: bustest.IDs(1)}
		for _, a := range c.then {
			r.Answered(map[fleet.TargetID]JobAnswer{"target00": a, "stranger": a})
		}
		if len(r.Pending) != 0 || len(r.Answers) != 1 || r.Answers["target00"] != c.want[0] {
			t.Errorf("%s: %+v", name, r)
		}
	}
	r := Job{Job: fleet.Job{ID: "r1"}, Pending: bustest.IDs(2)}
	r.Answered(map[fleet.TargetID]JobAnswer{"target00": taken})
	if _, ok := r.Cancellation("target00"); ok {
		t.Error("it is cancelled before anybody says so")
	}
	r.Cancel("ann", time.Unix(5, 0))
	if !r.Answers["target01"].Cancelled || !r.Answers["target00"].Accepted || len(r.Pending) != 0 || r.Open(0) {
		t.Errorf("%+v", r)
	}
	if job, ok := r.Cancellation("target00"); !ok || job.Arg != "r1" || job.ID == "r1" {
		t.Errorf("%+v", job)
	}
	if _, ok := r.Cancellation("target01"); ok {
		t.Error("one that never had it is told")
	}
}

// A job of 20,000 targets with all answers fits into a value of the store.
func TestLargeJobFits(t *testing.T) {
	r := Job{Job: fleet.Job{ID: "r1", What: fleet.JobRun,
		Run: &fleet.Command{Argv: []string{strings.Repeat("x", fleet.MaxCommand-9)}}},
		Answers: map[fleet.TargetID]JobAnswer{}}
	for i := range 20_000 {
		id, err := fleet.NewTargetID(nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Answers[id] = JobAnswer{At: 1_795_000_000 + int64(i%600), HasOutput: true,
			Result: &fleet.CommandResult{Command: 100 + i%900, Exit: i % 2, Duration: int64(i) * 1_234_567}}
	}
	text, err := FormatJob(r)
	if err != nil || len(text) > 1<<20 {
		t.Fatalf("%d bytes, %v", len(text), err)
	}
	again, err := ParseJob(text)
	if err != nil || fmt.Sprint(len(again.Answers), again.Run.Argv) != fmt.Sprint(20_000, r.Run.Argv) {
		t.Errorf("%v: %d answers come back", err, len(again.Answers))
	}
	small, err := FormatJob(Job{Job: fleet.Job{ID: "r2"}})
	if err != nil || small[0] != '{' {
		t.Errorf("a small one is not read by older hubs: %q, %v", small, err)
	}
}
