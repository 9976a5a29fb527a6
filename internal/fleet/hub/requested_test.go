package hub

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// What a target said last counts, but for words that come late.
func TestAnswersOfARequest(t *testing.T) {
	end := answerOf(fleet.Done{Result: &fleet.CommandResult{Exit: 3, Stdout: "no"}}, time.Unix(9, 0))
	if !end.Said || end.Result.Stdout != "" || end.Result.Exit != 3 {
		t.Fatalf("%+v", end)
	}
	taken, gone := Answer{At: 1, Taken: true}, Answer{At: 2, Withdrawn: true}
	for name, c := range map[string]struct{ before, then, want []Answer }{
		"taken, then its end":                     {then: []Answer{taken, end}, want: []Answer{end}},
		"its end, then that it was taken":         {then: []Answer{end, taken}, want: []Answer{end}},
		"twice":                                   {then: []Answer{end, {At: 10}}, want: []Answer{end}},
		"withdrawn, but it had begun":             {then: []Answer{gone, taken}, want: []Answer{taken}},
		"withdrawn, taken, and left by the agent": {then: []Answer{gone, taken, gone}, want: []Answer{gone}},
		"withdrawn, and it had ended":             {then: []Answer{gone, end}, want: []Answer{end}},
	} {
		r := Request{Pending: ids(1)}
		for _, a := range c.then {
			r.answered(map[fleet.TargetID]Answer{"target00": a, "stranger": a})
		}
		if len(r.Pending) != 0 || len(r.Answers) != 1 || r.Answers["target00"] != c.want[0] {
			t.Errorf("%s: %+v", name, r)
		}
	}
	r := Request{Do: fleet.Do{ID: "r1"}, Pending: ids(2)}
	r.answered(map[fleet.TargetID]Answer{"target00": taken})
	if _, ok := r.withdrawal("target00"); ok {
		t.Error("it is withdrawn before anybody says so")
	}
	r.withdraw("ann", time.Unix(5, 0))
	if !r.Answers["target01"].Withdrawn || !r.Answers["target00"].Taken || len(r.Pending) != 0 || r.open(0) {
		t.Errorf("%+v", r)
	}
	if do, ok := r.withdrawal("target00"); !ok || do.Arg != "r1" || do.ID == "r1" {
		t.Errorf("%+v", do)
	}
	if _, ok := r.withdrawal("target01"); ok {
		t.Error("one that never had it is told")
	}
}

// A request of 20,000 targets with all that they say fits into a value of the store.
func TestALargeRequestFits(t *testing.T) {
	r := Request{Do: fleet.Do{ID: "r1", What: fleet.DoRun, Run: &fleet.Command{Argv: []string{strings.Repeat("x", fleet.MaxCommand-9)}}}, Answers: map[fleet.TargetID]Answer{}}
	for i := range 20_000 {
		id, err := fleet.NewTargetID(nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Answers[id] = Answer{At: 1_795_000_000 + int64(i%600), Said: true, Result: &fleet.CommandResult{Command: 100 + i%900, Exit: i % 2, Duration: int64(i) * 1_234_567}}
	}
	text, err := formatRequest(r)
	if err != nil || len(text) > 1<<20 {
		t.Fatalf("%d bytes, %v", len(text), err)
	}
	again, err := parseRequest(text)
	if err != nil || fmt.Sprint(len(again.Answers), again.Run.Argv) != fmt.Sprint(20_000, r.Run.Argv) {
		t.Errorf("%v: %d answers come back", err, len(again.Answers))
	}
	small, err := formatRequest(Request{Do: fleet.Do{ID: "r2"}})
	if err != nil || small[0] != '{' {
		t.Errorf("a small one is not read by older hubs: %q, %v", small, err)
	}
}
