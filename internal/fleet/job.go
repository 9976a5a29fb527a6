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
	JobRun               = "run"                // Job.Run says what
	JobCancel            = "withdraw"           // Job.Arg is the job to cancel
	JobForgetCertificate = "forget-certificate" // for a new one
	JobFetchRevocations  = "forbid-certificate" // get the lists, which have Job.Arg: HUB/SERIAL, spaces between
)

// FullReport is the Arg of a report that is to tell all, whatever a hub has heard before.
const FullReport = "whole"

// Job is work for an agent. Hubs store it until the agent has acknowledged it.
type Job struct {
	ID   string   `json:"id"`
	What string   `json:"what"` // one of those above
	Arg  string   `json:"arg,omitempty"`
	Run  *Command `json:"run,omitempty"`
	// Signed is Run with the signature of a user, for hosts that require one: see
	// content.Command. Hubs do not change it.
	Signed string `json:"signed,omitempty"`
	By     string `json:"by"`
	At     int64  `json:"at"` // seconds since 1970
}

// ParseJob parses a job. An unknown field could limit the known fields, so a job with an
// unknown field is an error; the identity of the job is returned too, for the answer.
func ParseJob(b []byte) (Job, error) {
	var d, known Job
	if err := decodeReport(b, &d); err != nil {
		return Job{}, fmt.Errorf("cannot read the job: %w", err)
	}
	if d.ID == "" {
		return d, errors.New("cannot accept a job without an identity")
	}
	if err := decode(b, &known); err != nil {
		return Job{ID: d.ID}, fmt.Errorf("cannot accept a job of a newer hub: %w. Upgrade the agent of this host, and create the job again", err)
	}
	return d, nil
}

// JobAnswer acknowledges one: that it was taken, or how it ended.
type JobAnswer struct {
	ID    string `json:"id"`
	Error string `json:"error,omitempty"`
	// Accepted says that the agent has it, durably, and will tell how it ended under WordJobAnswer.
	Accepted bool `json:"taken,omitempty"`
	// Cancelled says that it was not begun, and will not be.
	Cancelled bool `json:"withdrawn,omitempty"`
	// Interrupted says that it had begun, and nobody saw how it ended. It is not begun
	// again.
	Interrupted bool `json:"interrupted,omitempty"`
	// Result is how what was run ended; nil where nothing was.
	Result *CommandResult `json:"result,omitempty"`
}

// Command is what a job runs on each of its targets: an action by its name, as it
// stands there, or a program with its words. It lies in the store of the hubs and whoever
// may read sees it, so that it has no place for secrets.
type Command struct {
	Action string            `json:"action,omitempty"`
	Params map[string]string `json:"params,omitempty"` // of the action
	Argv   []string          `json:"argv,omitempty"`   // no shell takes part
	Dir    string            `json:"dir,omitempty"`
	User   string            `json:"user,omitempty"`
	// Timeout is in nanoseconds; 0 is what the action says, or the default.
	Timeout int64 `json:"timeout_ns,omitempty"`
	// ReadOnly says that the program changes nothing, and need not wait for who does.
	ReadOnly bool `json:"looks,omitempty"`
	// IgnoreFreeze runs it on a machine that is frozen, too.
	IgnoreFreeze bool `json:"frozen_too,omitempty"`
}

// CommandResult is how it ended.
type CommandResult struct {
	Command  int    `json:"command"` // its number in the target's history
	Exit     int    `json:"exit"`    // -1 when a signal or the timeout ended it
	Signal   string `json:"signal,omitempty"`
	TimedOut bool   `json:"timed_out,omitempty"`
	// Stdout and Stderr are the ends of what it said, MaxTail bytes of each at most. The
	// target's history has more.
	Stdout   string `json:"stdout,omitempty"`
	Stderr   string `json:"stderr,omitempty"`
	Duration int64  `json:"duration_ns"`
}

// Bounds of what a job runs, and of what is told of it.
const (
	MaxCommand     = 16 << 10 // bytes of all words, or of all parameters
	MaxCommandTime = 24 * time.Hour
	MaxTail        = 4 << 10 // bytes of each stream
	MaxSignedJob   = 20 << 10
	MaxJobAnswer   = 128 << 10
)

// maxEnd bounds each line about an end, in bytes.
const maxEnd = 4 << 10

// ParseJobAnswer reads how a job ended, within its bounds. It ignores fields that it does not know.
func ParseJobAnswer(b []byte) (JobAnswer, error) {
	var d JobAnswer
	if len(b) > MaxJobAnswer {
		return d, fmt.Errorf("cannot read the answer to a job of %d bytes: %d are the most", len(b), MaxJobAnswer)
	}
	if err := decodeReport(b, &d); err != nil {
		return d, fmt.Errorf("cannot read the answer to a job: %w", err)
	}
	if d.ID == "" || len(d.ID) > 64 || len(d.Error) > maxEnd {
		return d, errors.New("cannot read the answer to a job: it has no identity, or too long an error")
	}
	if r := d.Result; r != nil && (len(r.Stdout) > MaxTail || len(r.Stderr) > MaxTail || len(r.Signal) > 64) {
		return d, fmt.Errorf("cannot take what was said: %d bytes of each stream are the most", MaxTail)
	}
	return d, nil
}

var accountName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$`) })

// Check says what is wrong with it.
func (c Command) Check() error {
	switch {
	case (c.Action == "") == (len(c.Argv) == 0):
		return errors.New("cannot run that: it is one of an action and a program with its words")
	case c.Action == "" && len(c.Params) > 0:
		return errors.New("cannot give parameters to a program: only actions have them")
	case c.Action != "" && (c.Dir != "" || c.User != "" || c.ReadOnly):
		return errors.New("cannot say where, as whom and whether an action changes something: it says so itself")
	case len(c.Argv) > 0 && c.Argv[0] == "":
		return errors.New("cannot run a program without a name")
	case c.Dir != "" && (!strings.HasPrefix(c.Dir, "/") || len(c.Dir) > 4096):
		return fmt.Errorf("cannot start it in %.80q: that is not an absolute path", c.Dir)
	case c.User != "" && !accountName().MatchString(c.User):
		return fmt.Errorf("cannot run it as %.40q: that is no name of an account", c.User)
	case c.Timeout < 0 || time.Duration(c.Timeout) > MaxCommandTime:
		return fmt.Errorf("cannot let it take %s: %s is the most", time.Duration(c.Timeout), MaxCommandTime)
	}
	return c.checkSize()
}

func (c Command) checkSize() error {
	words := append([]string{c.Action, c.Dir}, c.Argv...)
	for name, value := range c.Params {
		words = append(words, name, value)
	}
	size := 0
	for _, w := range words {
		if !utf8.ValidString(w) || strings.ContainsRune(w, 0) {
			return errors.New("cannot run that: a word is not text")
		}
		size += len(w) + 1
	}
	if size > MaxCommand {
		return fmt.Errorf("cannot take a command of %d bytes: %d are the most. Put it into a file, and let that be run", size, MaxCommand)
	}
	return nil
}
