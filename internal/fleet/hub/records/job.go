package records

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
)

// Job is work for agents. Hubs store it until all agents have answered or it expires.
type Job struct {
	fleet.Job
	// Pending are the targets that have not answered, sorted.
	Pending []fleet.TargetID `json:"pending,omitempty"`
	// Answers contains the answers of the other targets.
	Answers map[fleet.TargetID]JobAnswer `json:"answers,omitempty"`
	Expires int64                        `json:"expires"` // seconds since 1970
	// CancelledBy is the user who cancelled the job, or "".
	CancelledBy string `json:"withdrawn,omitempty"`
	// Organization is the organization of the user who created the job. Targets outside of it do not get the job.
	Organization fleet.Organization `json:"organization,omitempty"`
	// Granted means that the user had the right operate only by grants. A target gets the job only while a grant of the
	// user contains it.
	Granted bool `json:"granted,omitempty"`
}

// JobAnswer is the acknowledgement of one target.
type JobAnswer struct {
	At    int64  `json:"at"` // seconds since 1970
	Error string `json:"error,omitempty"`
	// Accepted means that the agent has the job and will report its result.
	Accepted bool `json:"taken,omitempty"`
	// Cancelled means that the agent must not start the job any more.
	Cancelled   bool `json:"withdrawn,omitempty"`
	Interrupted bool `json:"interrupted,omitempty"`
	// Result omits the output. If HasOutput is true, the bucket "results" contains the output.
	Result    *fleet.CommandResult `json:"result,omitempty"`
	HasOutput bool                 `json:"said,omitempty"`
	Task      fleet.TaskOutcome    `json:"task,omitempty"`
}

// AnswerOf converts the answer of an agent. It omits the output of the program.
func AnswerOf(d fleet.JobAnswer, at time.Time) JobAnswer {
	a := JobAnswer{At: at.Unix(), Error: d.Error, Accepted: d.Accepted, Cancelled: d.Cancelled, Interrupted: d.Interrupted,
		Task: d.Task}
	if d.Result != nil {
		r := *d.Result
		a.HasOutput = r.Stdout+r.Stderr != ""
		r.Stdout, r.Stderr = "", ""
		a.Result = &r
	}
	return a
}

// IsFinal reports whether this is the last answer. An accepted job continues. A cancelled one may
// have started just before its agent got the cancellation, and then a result follows.
func (a JobAnswer) IsFinal() bool { return !a.Accepted && !a.Cancelled }

// Takes reports whether an answer of a target changes the job.
func (r *Job) Takes(id fleet.TargetID, a JobAnswer) bool {
	if _, waits := slices.BinarySearch(r.Pending, id); waits {
		return true
	}
	had, there := r.Answers[id]
	return there && !had.IsFinal() && !(a.Accepted && had.Accepted)
}

// Answered adds answers to a job. An old answer changes nothing.
func (r *Job) Answered(answers map[fleet.TargetID]JobAnswer) {
	if r.Answers == nil {
		r.Answers = map[fleet.TargetID]JobAnswer{}
	}
	for id, a := range answers {
		if !r.Takes(id, a) {
			continue
		}
		if i, waits := slices.BinarySearch(r.Pending, id); waits {
			r.Pending = slices.Delete(r.Pending, i, i+1)
		}
		r.Answers[id] = a
	}
}

// Cancel cancels a job for the targets that have not started it.
func (r *Job) Cancel(by string, at time.Time) {
	r.CancelledBy = by
	if r.Answers == nil {
		r.Answers = map[fleet.TargetID]JobAnswer{}
	}
	for _, id := range r.Pending {
		r.Answers[id] = JobAnswer{At: at.Unix(), Cancelled: true}
	}
	r.Pending = nil
}

// Open reports whether a job still waits for answers. now is in seconds since 1970.
func (r Job) Open(now int64) bool { return len(r.Pending) > 0 && now < r.Expires }

// Cancellation returns the message that cancels a job on a target that has accepted it.
func (r Job) Cancellation(id fleet.TargetID) (fleet.Job, bool) {
	job := fleet.Job{ID: r.ID + ".withdrawn", What: fleet.JobCancel, Arg: r.ID, By: r.CancelledBy, At: r.At}
	return job, r.CancelledBy != "" && r.Answers[id].Accepted
}

// largeJob is the size in bytes above which a job is compressed: otherwise, a job for all targets
// of a large fleet exceeds the limit of the store. maxJobBytes limits a decompressed job.
const (
	largeJob    = 256 << 10
	maxJobBytes = 64 << 20
)

// FormatJob encodes a job, and compresses a large one.
func FormatJob(r Job) ([]byte, error) {
	text, err := json.Marshal(r)
	if err == nil && len(text) > largeJob {
		text = fleet.Compress(text)
	}
	return text, err
}

// ParseJob decodes the text of FormatJob.
func ParseJob(b []byte) (Job, error) {
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

// Title returns the operation and the first word of the command.
func (r Job) Title() string {
	switch {
	case r.Task != nil:
		return r.What + " " + r.Task.Scope + " " + r.Task.Task
	case r.Run == nil:
		return r.What
	case r.Run.Action != "":
		return r.What + " " + r.Run.Action
	}
	return r.What + " " + r.Run.Program()[0]
}

// State converts the answer of a target to the state of the job on that target.
func (a JobAnswer) State() document.JobState {
	switch {
	case a.Accepted:
		return document.JobAccepted
	case a.Cancelled:
		return document.JobCancelled
	case a.Interrupted:
		return document.JobInterrupted
	case a.Result != nil && (a.Error != "" || a.Result.Exit != 0 || a.Result.TimedOut):
		return document.JobFailed
	case a.Task == fleet.TaskFailed || a.Task == fleet.TaskNotDone:
		return document.JobFailed
	case a.Error != "" || a.Task == fleet.TaskRefused:
		return document.JobRefused
	}
	return document.JobDone
}

// Ended returns the time of the last answer, or of the expiry.
func (r Job) Ended() time.Time {
	if len(r.Pending) > 0 {
		return time.Unix(r.Expires, 0)
	}
	last := r.At
	for _, a := range r.Answers {
		last = max(last, a.At)
	}
	return time.Unix(last, 0)
}
