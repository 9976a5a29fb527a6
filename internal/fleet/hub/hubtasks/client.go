package hubtasks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/hub/scopes"
	"fettle.dev/fettle/internal/fleet/scope/checks"
	"fettle.dev/fettle/internal/lang/query"
)

// Client lets the server of this host do tasks and test conditions.
type Client struct {
	// Dial connects to the socket of the server. The error wraps fs.ErrNotExist if there is none.
	Dial func(ctx context.Context) (io.ReadWriteCloser, error)
}

// askFor is the time within which a server must answer that it is there.
const askFor = 5 * time.Second

// Unable returns why the server cannot do tasks, or "".
func (c Client) Unable() string {
	ctx, cancel := context.WithTimeout(context.Background(), askFor)
	defer cancel()
	_, err := c.ask(ctx, request{})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return notAllowed
	case err != nil:
		return "the service for tasks on its host does not answer: " + err.Error()
	}
	return ""
}

// ask sends a request, and waits for the reply until ctx ends. errNotSent means that the server did not get it.
func (c Client) ask(ctx context.Context, q request) (reply, error) {
	conn, err := c.Dial(ctx)
	if err != nil {
		return reply{}, fmt.Errorf("%w: %w", errNotSent, err)
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if err := send(conn, q); err != nil {
		return reply{}, err
	}
	return receive[reply](conn, maxReply)
}

// Test tests a condition once. nil: it holds. An error that wraps checks.ErrUntested means that the server did not test
// it.
func (c Client) Test(ctx context.Context, p query.Probe, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit+askFor)
	defer cancel()
	r, err := c.ask(ctx, request{Verify: &p, Timeout: int64(limit / time.Second)})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = errors.New(notAllowed)
	case err != nil:
		err = fmt.Errorf("the service for tasks on the host of the hub did not test it: %w", err)
	case r.Outcome == fleet.TaskVerified:
		return nil
	case r.Outcome == fleet.TaskNotDone:
		return errors.New(cmp.Or(r.Text, "it failed without a reason"))
	default:
		err = errors.New("the service for tasks on the host of the hub has an older version. Restart it: " +
			"systemctl restart fettle-hub-tasks")
	}
	return fmt.Errorf("%w: %w", checks.ErrUntested, err)
}

const notAllowed = "tasks are not allowed on its host. Allow them: systemctl enable --now fettle-hub-tasks"

var errNotSent = errors.New("cannot reach the service for tasks on the host of the hub")

// Do does the work. If ctx ends before the result, the server kills the command, and the result is unknown. The server
// removes secrets from the text.
func (c Client) Do(ctx context.Context, w scopes.Work) (fleet.TaskOutcome, string) {
	a := w.Attempt
	r, err := c.ask(ctx, request{Scope: a.Scope, Task: a.Task, Fence: a.Fence, VerifyOnly: a.VerifyOnly,
		Expires: a.Expires, Command: w.Command, Input: w.Input, Env: w.Env, Verify: w.Verify, Timeout: w.Timeout})
	switch {
	case errors.Is(err, errNotSent):
		return fleet.TaskRefused, err.Error()
	case err != nil:
		return "", fmt.Sprintf("the service for tasks ended before the result: %s", err)
	}
	return r.Outcome, r.Text
}
