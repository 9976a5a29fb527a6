package executors

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/hub/api"
)

// OpenExecutor opens a stream to the executor of a target over the bus, through any hub. The header
// states whether the stream may change the target; the caller has checked the right of the user.
// Agents accept such a header only from hubs.
func (e *Opener) OpenExecutor(ctx context.Context, by access.Principal, id fleet.TargetID,
	changes bool) (io.ReadWriteCloser, error) {
	t, err := e.Trusted(ctx, id)
	if err != nil {
		return nil, err
	}
	header, err := json.Marshal(fleet.ExecutorHeader{By: by.Name, Changes: changes})
	if err != nil {
		return nil, err
	}
	leave, err := e.opened.enter(by.Name, id)
	if err != nil {
		return nil, err
	}
	opening, done := context.WithTimeout(ctx, e.Timeout)
	defer done()
	stream, err := e.Exchange.Open(opening, id, fleet.MessageExecutor, header)
	if err == nil {
		return &counted{stream, leave}, nil
	}
	leave()
	if opening.Err() != nil && ctx.Err() == nil {
		return nil, silentTarget(t.Name, e.MissingHubs(ctx))
	}
	return nil, fmt.Errorf("cannot work on %s: %w", t.Name, err)
}

// silentTarget returns the error for a target that did not answer. missing is set if a hub does not
// answer: it may still hold the connection of the agent.
func silentTarget(name string, missing error) error {
	if missing == nil {
		return &api.Refusal{Status: api.Unavailable,
			Why:  fmt.Sprintf("cannot work on %s: its agent does not answer", name),
			Hint: "See its last contact: fettle target show " + name}
	}
	return &api.Refusal{Status: api.Unavailable,
		Why: fmt.Sprintf("cannot work on %s: no answer of its agent, which may be connected to a hub "+
			"that does not answer: %v", name, missing),
		Hint: "The agent connects to another hub within a minute. Try again then, or use --via ssh"}
}

// counted is a stream that calls leave when it is closed.
type counted struct {
	io.ReadWriteCloser
	leave func()
}

func (c *counted) Close() error {
	defer c.leave()
	return c.ReadWriteCloser.Close()
}
