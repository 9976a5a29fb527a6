package fleet

// UnsupportedJob begins the error of an agent that does not know the kind of a job. Agents without tasks send it as the
// answer to a JobTask, and hubs compare it, so it must not change.
const UnsupportedJob = "cannot execute a job of the type "

// JobTask is a kind of job: one attempt of a task of a scope. Job.Task is the attempt.
const JobTask = "task"

// TaskAttempt is one attempt of a task of a scope. It does not contain the command: the target has it in its verified
// content, and refuses a digest that its content does not have.
type TaskAttempt struct {
	Scope  string `json:"scope"`  // KIND/NAME
	Task   string `json:"task"`   // name in the scope
	Digest string `json:"digest"` // of the content of the task
	// Fence increases with each attempt of the task. The command gets it as FETTLE_TASK_FENCE.
	Fence uint64 `json:"fence"`
	// VerifyOnly means that the target only tests the condition of the task.
	VerifyOnly bool `json:"verify_only,omitempty"`
	// Undo means that the task was removed from the repository, and that Digest is of its undo.
	Undo bool `json:"undo,omitempty"`
	// Expires is the time after which the attempt must not begin, in seconds since 1970.
	Expires int64 `json:"expires"`
}

// TaskOutcome is the result of an attempt on the target.
type TaskOutcome string

// Outcomes of an attempt.
const (
	TaskVerified TaskOutcome = "verified" // the condition held before the command, which was not started
	TaskDone     TaskOutcome = "done"     // the command succeeded, and the condition holds
	TaskNotDone  TaskOutcome = "not_done" // with VerifyOnly: the condition does not hold
	TaskFailed   TaskOutcome = "failed"   // the command or the condition failed
	TaskRefused  TaskOutcome = "refused"  // the target did not begin: it has no such content, or the attempt expired
)
