// Package round performs one operation on many targets, and collects the outcome of each:
//
//	r := round.Round{Options: options, Work: func(ctx context.Context, target string) round.Outcome { … }}
//	outcomes, stopped := r.Run(ctx, []string{"db1", "web1", "web2"})
//	for _, g := range round.Groups(outcomes) { … }
//
// Package fanout decides the order, the batches and the limits of failures. This package adds the text, the
// document and the error of each target. It prints nothing.
package round

import (
	"errors"
	"strings"

	"fettle.dev/fettle/internal/executor/ssh"
	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/fleet/fanout"
)

// Outcome is the result on one target.
type Outcome struct {
	Status fanout.Status
	Line   string // in a few words, for one line
	Body   string // text for users; targets with the same text are shown once
	Doc    any    // the JSON document
	Part   string // of a command
	Rows   []Row  // of its JSON output; nil if the output is text
	Err    error
	Notes  []string // of its state directory: lost or damaged parts that were rebuilt
	// Said means that Body is output of the target: its own name in it is not replaced by names of other
	// targets.
	Said bool
}

// Row is an object that a command printed, as cells by column.
type Row map[string]string

// unreachableError marks the error of a target without a connection.
type unreachableError struct{ error }

func (u *unreachableError) Unwrap() error { return u.error }

// Unreachable marks an error of a target without a connection: its outcome is unreachable instead of
// failed.
func Unreachable(err error) error { return &unreachableError{err} }

// Failed returns the outcome of an error. hint is the next step of the user, "" if there is none. For an
// error of SSH, the texts contain only the reason.
func Failed(err error, hint string) Outcome {
	line, _, _ := strings.Cut(err.Error(), "\n")
	o := Outcome{Status: fanout.Failed, Err: err, Line: line, Body: "error: " + err.Error() + "\n"}
	var far *ssh.Error
	var near *unreachableError
	if errors.As(err, &far) || errors.As(err, &near) || errors.Is(err, wire.ErrLost) {
		o.Status = fanout.Unreachable
	}
	if far != nil {
		o.Line = far.Text
		o.Body = "error: cannot be reached: " + far.Text + "\n"
	}
	if hint != "" {
		o.Body += "hint: " + strings.ReplaceAll(hint, "\n", "\n      ") + "\n"
	}
	return o
}
