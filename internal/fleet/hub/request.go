package hub

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// Request is something that agents were asked for, kept until all have answered or
// its time is over.
type Request struct {
	fleet.Do
	// Pending are the targets that have not answered, sorted.
	Pending []fleet.TargetID `json:"pending,omitempty"`
	// Answers are what became of it on the others.
	Answers map[fleet.TargetID]Answer `json:"answers,omitempty"`
	Expires int64                     `json:"expires"` // seconds since 1970
	// Withdrawn is who took it back.
	Withdrawn string `json:"withdrawn,omitempty"`
}

// Answer is the acknowledgement of one target.
type Answer struct {
	At    int64  `json:"at"` // seconds since 1970
	Error string `json:"error,omitempty"`
	// Taken says that the agent has it, and will tell how it ended.
	Taken bool `json:"taken,omitempty"`
	// Withdrawn says that it is not to be begun any more.
	Withdrawn   bool `json:"withdrawn,omitempty"`
	Interrupted bool `json:"interrupted,omitempty"`
	// Result is without what was said: Said tells that this lies in the bucket of results.
	Result *fleet.CommandResult `json:"result,omitempty"`
	Said   bool                 `json:"said,omitempty"`
}

// answerOf is the answer of an agent, without the output of its program.
func answerOf(d fleet.Done, at time.Time) Answer {
	a := Answer{At: at.Unix(), Error: d.Error, Taken: d.Taken, Withdrawn: d.Withdrawn, Interrupted: d.Interrupted}
	if d.Result != nil {
		r := *d.Result
		a.Said = r.Stdout+r.Stderr != ""
		r.Stdout, r.Stderr = "", ""
		a.Result = &r
	}
	return a
}

// isFinal tells whether nothing follows an answer. What was withdrawn may have been begun
// just before the agent heard of that.
func (a Answer) isFinal() bool { return !a.Taken && !a.Withdrawn }

// takes tells whether an answer of a target is news.
func (r *Request) takes(id fleet.TargetID, a Answer) bool {
	if _, waits := slices.BinarySearch(r.Pending, id); waits {
		return true
	}
	had, there := r.Answers[id]
	return there && !had.isFinal() && !(a.Taken && had.Taken)
}

// answered takes answers into a request: what is no news changes nothing.
func (r *Request) answered(answers map[fleet.TargetID]Answer) {
	if r.Answers == nil {
		r.Answers = map[fleet.TargetID]Answer{}
	}
	for id, a := range answers {
		if !r.takes(id, a) {
			continue
		}
		if i, waits := slices.BinarySearch(r.Pending, id); waits {
			r.Pending = slices.Delete(r.Pending, i, i+1)
		}
		r.Answers[id] = a
	}
}

// withdraw takes a request back from those that have not begun, as far as is known.
func (r *Request) withdraw(by string, at time.Time) {
	r.Withdrawn = by
	if r.Answers == nil {
		r.Answers = map[fleet.TargetID]Answer{}
	}
	for _, id := range r.Pending {
		r.Answers[id] = Answer{At: at.Unix(), Withdrawn: true}
	}
	r.Pending = nil
}

// open tells whether a request still waits for answers.
func (r Request) open(now int64) bool { return len(r.Pending) > 0 && now < r.Expires }

// withdrawal is what a target is asked that has taken a request which was withdrawn.
func (r Request) withdrawal(id fleet.TargetID) (fleet.Do, bool) {
	return fleet.Do{ID: r.ID + ".withdrawn", What: fleet.DoWithdraw, Arg: r.ID, By: r.Withdrawn, At: r.At}, r.Withdrawn != "" && r.Answers[id].Taken
}

// largeRequest is from how many bytes on a request is squeezed: one of all targets of a large
// fleet would not fit into the store. mostRequest bounds what is read back.
const (
	largeRequest = 256 << 10
	mostRequest  = 64 << 20
)

func formatRequest(r Request) ([]byte, error) {
	text, err := json.Marshal(r)
	if err == nil && len(text) > largeRequest {
		text = fleet.Squeeze(text)
	}
	return text, err
}

func parseRequest(b []byte) (Request, error) {
	var r Request
	text, err := new(fleet.Unsqueezer).Unsqueeze(b, mostRequest)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return r, fmt.Errorf("cannot read a request: %w", err)
	}
	return r, nil
}
