package fleet

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// The kinds of jobs.
const (
	JobApply             = "apply"
	JobVerify            = "verify"
	JobReport            = "report"
	JobRun               = "run"                // Job.Run is the command
	JobCancel            = "withdraw"           // Job.Arg is the job to cancel
	JobForgetCertificate = "forget-certificate" // requests a new one afterwards
	// JobFetchRevocations fetches the lists that contain Job.Arg: HUB/SERIAL, separated by spaces.
	JobFetchRevocations = "forbid-certificate"
)

// FullReport is the Arg of a report job for the whole status, even if it has not changed.
const FullReport = "whole"

// Job is work for an agent. Hubs store it until the agent has acknowledged it.
type Job struct {
	ID   string   `json:"id"`
	What string   `json:"what"` // one of the kinds above
	Arg  string   `json:"arg,omitempty"`
	Run  *Command `json:"run,omitempty"`
	// Signed is Run with the signature of a user, for hosts that require one: see content.Command.
	// Hubs do not change it.
	Signed string `json:"signed,omitempty"`
	// Task is the attempt of a JobTask.
	Task *TaskAttempt `json:"task,omitempty"`
	By   string       `json:"by"`
	At   int64        `json:"at"` // seconds since 1970
}

// ParseJob parses a job. An unknown field could limit the known fields, so a job with an unknown
// field is an error. The identity of the job is returned too, for the answer.
func ParseJob(b []byte) (Job, error) {
	var d, known Job
	if err := decodeReport(b, &d); err != nil {
		return Job{}, fmt.Errorf("cannot read the job: %w", err)
	}
	if d.ID == "" {
		return d, errors.New("cannot accept a job without an identity")
	}
	if err := decode(b, &known); err != nil {
		return Job{ID: d.ID},
			fmt.Errorf("cannot accept a job of a newer hub: %w. Upgrade the agent of this host, and create the job again", err)
	}
	return d, nil
}

// JobAnswer acknowledges a job: the agent accepted it, or it ended.
type JobAnswer struct {
	ID    string `json:"id"`
	Error string `json:"error,omitempty"`
	// Accepted means that the agent stored the job durably, and will send its result with
	// MessageJobAnswer.
	Accepted bool `json:"taken,omitempty"`
	// Cancelled means that the job has not begun, and never will.
	Cancelled bool `json:"withdrawn,omitempty"`
	// Interrupted means that the job had begun, and its result is unknown. It is not started again.
	Interrupted bool `json:"interrupted,omitempty"`
	// Result is the result of the command; nil if the job runs none.
	Result *CommandResult `json:"result,omitempty"`
	// Task is the result of a JobTask; "" means that it is unknown.
	Task TaskOutcome `json:"task,omitempty"`
}

// Command is the command of a job: an action of the configuration by its name, or a program with
// its arguments. It is stored at the hubs and visible to all users with the right to read, so it
// must not contain secrets.
type Command struct {
	Action string            `json:"action,omitempty"`
	Params map[string]string `json:"params,omitempty"` // of the action
	Argv   []string          `json:"argv,omitempty"`   // executed without a shell
	// Locks are the locks of which the program needs a slot. The program is Locked then, and not Argv: an agent of an
	// earlier version would run Argv without a slot, and refuses a command without it.
	Locks  []string `json:"locks,omitempty"`
	Locked []string `json:"locked,omitempty"`
	Dir    string   `json:"dir,omitempty"`
	User   string   `json:"user,omitempty"`
	// Timeout is in nanoseconds; 0 is the timeout of the action, or the default.
	Timeout int64 `json:"timeout_ns,omitempty"`
	// ReadOnly means that the program changes nothing. It then does not wait for runs.
	ReadOnly bool `json:"looks,omitempty"`
	// IgnoreFreeze runs the command also on a frozen target.
	IgnoreFreeze bool `json:"frozen_too,omitempty"`
}

// CommandResult describes how a command of a job ended.
type CommandResult struct {
	Command  int    `json:"command"` // its number in the target's history
	Exit     int    `json:"exit"`    // -1 if a signal or the timeout ended it
	Signal   string `json:"signal,omitempty"`
	TimedOut bool   `json:"timed_out,omitempty"`
	// Stdout and Stderr are the ends of the output, at most MaxTail bytes of each. The target's
	// history has more.
	Stdout   string `json:"stdout,omitempty"`
	Stderr   string `json:"stderr,omitempty"`
	Duration int64  `json:"duration_ns"`
}

// Limits of commands and their results.
const (
	MaxCommand     = 16 << 10 // bytes of all arguments, or of all parameters
	MaxCommandTime = 24 * time.Hour
	MaxTail        = 4 << 10 // bytes of each stream
	MaxSignedJob   = 20 << 10
	MaxJobAnswer   = 128 << 10
)

// maxEnd is the maximum size of an error, in bytes.
const maxEnd = 4 << 10

// ParseJobAnswer parses the result of a job, within its limits. It ignores unknown fields.
func ParseJobAnswer(b []byte) (JobAnswer, error) {
	var d JobAnswer
	if len(b) > MaxJobAnswer {
		return d, fmt.Errorf("cannot read the answer to a job of %d bytes: the maximum is %d", len(b), MaxJobAnswer)
	}
	if err := decodeReport(b, &d); err != nil {
		return d, fmt.Errorf("cannot read the answer to a job: %w", err)
	}
	if d.ID == "" || len(d.ID) > 64 || len(d.Error) > maxEnd {
		return d, errors.New("cannot read the answer to a job: it has no identity, or too long an error")
	}
	if r := d.Result; r != nil && (len(r.Stdout) > MaxTail || len(r.Stderr) > MaxTail || len(r.Signal) > 64) {
		return d, fmt.Errorf("cannot accept the output of a job: the maximum is %d bytes for each stream", MaxTail)
	}
	return d, nil
}

var accountName = sync.OnceValue(
	func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$`) })

// Program returns the program with its arguments, or nil for an action.
func (c Command) Program() []string {
	if len(c.Locked) > 0 {
		return c.Locked
	}
	return c.Argv
}

var lockName = sync.OnceValue(
	func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,62}$`) })

// maxCommandLocks is the maximum number of locks of a command.
const maxCommandLocks = 20

// checkLocks returns an error if the locks are invalid.
func (c Command) checkLocks() error {
	switch {
	case (len(c.Locks) > 0) != (len(c.Locked) > 0) || len(c.Argv) > 0 && len(c.Locked) > 0:
		return errors.New("cannot run the command: a program with locks is in the field locked, and a program without " +
			"locks in the field argv")
	case len(c.Locks) > 0 && c.ReadOnly:
		return errors.New("cannot run a program with locks as read-only: a program that changes nothing needs no lock")
	case len(c.Locks) > maxCommandLocks:
		return fmt.Errorf("cannot run a program with %d locks: the maximum is %d", len(c.Locks), maxCommandLocks)
	}
	for i, name := range c.Locks {
		if !lockName().MatchString(name) || i > 0 && name <= c.Locks[i-1] {
			return fmt.Errorf("cannot use the lock %.64q: the names of locks must be valid, sorted and different", name)
		}
	}
	return nil
}

// Check returns an error if the command is invalid.
func (c Command) Check() error {
	if err := c.checkLocks(); err != nil {
		return err
	}
	switch {
	case (c.Action == "") == (len(c.Program()) == 0):
		return errors.New("cannot run the command: give either an action, or a program with its arguments")
	case c.Action == "" && len(c.Params) > 0:
		return errors.New("cannot give parameters to a program: only actions have them")
	case c.Action != "" && (c.Dir != "" || c.User != "" || c.ReadOnly):
		return errors.New("cannot set the directory, the user or read-only for an action: the action sets them")
	case c.Action == "" && c.Program()[0] == "":
		return errors.New("cannot run a program without a name")
	case c.Dir != "" && (!strings.HasPrefix(c.Dir, "/") || len(c.Dir) > 4096):
		return fmt.Errorf("cannot start it in %.80q: that is not an absolute path", c.Dir)
	case c.User != "" && !accountName().MatchString(c.User):
		return fmt.Errorf("cannot run it as %.40q: that is not a valid name of an account", c.User)
	case c.Timeout < 0 || time.Duration(c.Timeout) > MaxCommandTime:
		return fmt.Errorf("cannot set a timeout of %s: the maximum is %s", time.Duration(c.Timeout), MaxCommandTime)
	}
	return c.checkSize()
}

func (c Command) checkSize() error {
	words := append([]string{c.Action, c.Dir}, c.Program()...)
	for name, value := range c.Params {
		words = append(words, name, value)
	}
	size := 0
	for _, w := range words {
		if !utf8.ValidString(w) || strings.ContainsRune(w, 0) {
			return errors.New("cannot run the command: an argument is not text in UTF-8")
		}
		size += len(w) + 1
	}
	if size > MaxCommand {
		return fmt.Errorf(
			"cannot run a command of %d bytes: the maximum is %d. Put it into a file on the targets, and run that file", size,
			MaxCommand)
	}
	return nil
}
