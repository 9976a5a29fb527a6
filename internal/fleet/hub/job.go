package hub

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// Job is work for agents. Hubs store it until all agents have answered or
// it expires.
type Job struct {
	fleet.Job
	// Pending are the targets that have not answered, sorted.
	Pending []fleet.TargetID `json:"pending,omitempty"`
	// Answers are what became of it on the others.
	Answers map[fleet.TargetID]JobAnswer `json:"answers,omitempty"`
	Expires int64                        `json:"expires"` // seconds since 1970
	// Cancelled is who took it back.
	CancelledBy string `json:"withdrawn,omitempty"`
}

// JobAnswer is the acknowledgement of one target.
type JobAnswer struct {
	At    int64  `json:"at"` // seconds since 1970
	Error string `json:"error,omitempty"`
	// Accepted says that the agent has it, and will tell how it ended.
	Accepted bool `json:"taken,omitempty"`
	// Cancelled says that it is not to be begun any more.
	Cancelled   bool `json:"withdrawn,omitempty"`
	Interrupted bool `json:"interrupted,omitempty"`
	// Result is without what was said: HasOutput tells that this lies in the bucket of results.
	Result    *fleet.CommandResult `json:"result,omitempty"`
	HasOutput bool                 `json:"said,omitempty"`
}

// answerOf is the answer of an agent, without the output of its program.
func answerOf(d fleet.JobAnswer, at time.Time) JobAnswer {
	a := JobAnswer{At: at.Unix(), Error: d.Error, Accepted: d.Accepted, Cancelled: d.Cancelled, Interrupted: d.Interrupted}
	if d.Result != nil {
		r := *d.Result
		a.HasOutput = r.Stdout+r.Stderr != ""
		r.Stdout, r.Stderr = "", ""
		a.Result = &r
	}
	return a
}

// isFinal tells whether nothing follows an answer. What was cancelled may have been begun
// just before the agent heard of that.
func (a JobAnswer) isFinal() bool { return !a.Accepted && !a.Cancelled }

// takes tells whether an answer of a target is news.
func (r *Job) takes(id fleet.TargetID, a JobAnswer) bool {
	if _, waits := slices.BinarySearch(r.Pending, id); waits {
		return true
	}
	had, there := r.Answers[id]
	return there && !had.isFinal() && !(a.Accepted && had.Accepted)
}

// answered adds answers to a job. An old answer changes nothing.
func (r *Job) answered(answers map[fleet.TargetID]JobAnswer) {
	if r.Answers == nil {
		r.Answers = map[fleet.TargetID]JobAnswer{}
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

// cancel cancels a job for the targets that have not started it.
func (r *Job) cancel(by string, at time.Time) {
	r.CancelledBy = by
	if r.Answers == nil {
		r.Answers = map[fleet.TargetID]JobAnswer{}
	}
	for _, id := range r.Pending {
		r.Answers[id] = JobAnswer{At: at.Unix(), Cancelled: true}
	}
	r.Pending = nil
}

// open tells whether a job still waits for answers.
func (r Job) open(now int64) bool { return len(r.Pending) > 0 && now < r.Expires }

// cancellation returns the message that cancels a job on a target that has accepted it.
func (r Job) cancellation(id fleet.TargetID) (fleet.Job, bool) {
	return fleet.Job{ID: r.ID + ".withdrawn", What: fleet.JobCancel, Arg: r.ID, By: r.CancelledBy, At: r.At}, r.CancelledBy != "" && r.Answers[id].Accepted
}

// largeJob is from how many bytes on a job is squeezed: one of all targets of a large
// fleet would not fit into the store. maxJobBytes bounds what is read back.
const (
	largeJob    = 256 << 10
	maxJobBytes = 64 << 20
)

func formatJob(r Job) ([]byte, error) {
	text, err := json.Marshal(r)
	if err == nil && len(text) > largeJob {
		text = fleet.Compress(text)
	}
	return text, err
}

func parseJob(b []byte) (Job, error) {
	var r Job
	text, err := new(fleet.Decompressor).Decompress(b, maxJobBytes)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return r, fmt.Errorf("cannot read a job: %w", err)
	}
	return r, nil
}
