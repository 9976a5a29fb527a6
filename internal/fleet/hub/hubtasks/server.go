package hubtasks

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/secret"
)

// Times of the test of a condition, as on targets.
const (
	verifyLimit = 10 * time.Second
	verifyFor   = 15 * time.Second
	verifyPause = time.Second
)

// Server does tasks of a hub. Its process must be of another user than the hub, without rights.
type Server struct {
	// Run runs a command. When its context ends, it kills all processes of the command.
	Run func(ctx context.Context, c host.Command) (host.CommandResult, error)
	// Test tests a condition once, within a time limit.
	Test func(ctx context.Context, p query.Probe, limit time.Duration) error
	Now  func() time.Time
	// VerifyFor is the time within which a condition must hold after the command; 0 means 15 seconds.
	VerifyFor time.Duration
}

// Serve does one request, and closes the connection. It kills the command if the client closes the connection, or if
// ctx ends. The client must be root or the user of the hub.
func (s Server) Serve(ctx context.Context, conn io.ReadWriteCloser) {
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	q, err := receive[request](conn, maxRequest)
	if err != nil {
		return // the client has no result
	}
	if len(q.Command) == 0 && q.Verify == nil {
		_ = send(conn, reply{})
		return
	}
	go func() {
		_, _ = conn.Read(make([]byte, 1)) // until the client closes the connection
		cancel()
	}()
	outcome, err := fleet.TaskOutcome(""), error(nil)
	if len(q.Command) > 0 {
		outcome, err = s.do(ctx, q)
	} else {
		outcome, err = s.test(ctx, q)
	}
	r := reply{Outcome: outcome}
	if err != nil {
		r.Text = strings.ToValidUTF8(err.Error(), "\uFFFD")
	}
	if ctx.Err() == nil {
		_ = send(conn, r)
	}
}

// test tests a condition that is not part of a task.
func (s Server) test(ctx context.Context, q request) (fleet.TaskOutcome, error) {
	if err := s.Test(ctx, *q.Verify, time.Duration(q.Timeout)*time.Second); err != nil {
		return fleet.TaskNotDone, err
	}
	return fleet.TaskVerified, nil
}

// do does an attempt. The error contains no secret.
func (s Server) do(ctx context.Context, q request) (fleet.TaskOutcome, error) {
	var values []string
	for _, v := range q.Env {
		values = append(values, v)
	}
	mask := secret.NewMasker(values)
	outcome, err := s.attempt(ctx, q, mask)
	if err != nil {
		err = errors.New(mask.Text(err.Error()))
	}
	return outcome, err
}

// attempt tests the condition, runs the command if it does not hold, and tests the condition again.
func (s Server) attempt(ctx context.Context, q request, mask *secret.Masker) (fleet.TaskOutcome, error) {
	why := error(nil)
	if q.Verify != nil {
		if why = s.Test(ctx, *q.Verify, verifyLimit); why == nil {
			return fleet.TaskVerified, nil
		}
	}
	switch {
	case q.VerifyOnly:
		return fleet.TaskNotDone, why
	case s.Now().Unix() > q.Expires:
		return fleet.TaskRefused, errors.New("the attempt expired before the command began")
	}
	limit := time.Duration(q.Timeout) * time.Second
	env := []string{"HOME=/", "FETTLE_TASK_SCOPE=" + q.Scope, fmt.Sprint("FETTLE_TASK_FENCE=", q.Fence)}
	for name, value := range q.Env {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	res, err := s.Run(ctx, host.Command{Argv: q.Command, Stdin: []byte(q.Input), Timeout: limit, Env: env, Mutates: true})
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err == nil && res.TimedOut:
		err = fmt.Errorf("the command did not end within %s", limit)
	case err == nil && res.ExitCode != 0:
		err = fmt.Errorf("the command ended with exit code %d%s", res.ExitCode, tail(res, mask))
	}
	if err != nil {
		return fleet.TaskFailed, err
	}
	return s.verified(ctx, q)
}

// verified tests the condition after the command succeeded.
func (s Server) verified(ctx context.Context, q request) (fleet.TaskOutcome, error) {
	if q.Verify == nil {
		return fleet.TaskDone, nil
	}
	over := time.After(cmp.Or(s.VerifyFor, verifyFor))
	for {
		err := s.Test(ctx, *q.Verify, verifyLimit)
		if err == nil {
			return fleet.TaskDone, nil
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-over:
			return fleet.TaskFailed, fmt.Errorf("the command succeeded, but the condition of verify does not hold: %w", err)
		case <-time.After(verifyPause):
		}
	}
}

// tail returns the end of the output of a command. Secrets are removed first: a part of a secret would not be found.
func tail(r host.CommandResult, mask *secret.Masker) string {
	out := bytes.TrimSpace(r.Stderr)
	if len(out) == 0 {
		out = bytes.TrimSpace(r.Stdout)
	}
	if len(out) == 0 {
		return ""
	}
	text := mask.Text(string(out))
	return ": " + text[max(0, len(text)-maxTail):]
}
