package slots

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/agentsocket"
)

// Question asks whether slots are free, without a request for them.
type Question struct {
	Names []string `json:"names"`
}

// Description describes one lock, for display. Free means that a run would get a slot now. Otherwise, Why is the
// reason. Error is set if the state of the lock is unknown.
type Description struct {
	Name  string `json:"name"`
	Free  bool   `json:"free,omitempty"`
	Why   string `json:"why,omitempty"`
	Error string `json:"error,omitempty"`
}

var _ executor.LockObserver = (*Client)(nil)

// describeTime limits the time for an answer: a plan does not depend on it.
const describeTime = 5 * time.Second

// Describe implements executor.LockObserver.
func (c *Client) Describe(ctx context.Context, names []string) []string {
	if c.Ask == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, describeTime)
	defer cancel()
	var list []Description
	body, err := json.Marshal(Question{Names: names})
	if err == nil {
		body, err = c.Ask(ctx, body)
	}
	if err == nil {
		err = json.Unmarshal(body, &list)
	}
	switch {
	case errors.Is(err, agentsocket.ErrNoAgent):
		return []string{"without an agent, the run would be refused: " + err.Error()}
	case err != nil:
		return []string{"cannot determine whether the slots are free: " + err.Error()}
	}
	out := make([]string, 0, len(list))
	for _, d := range list {
		out = append(out, d.text())
	}
	return out
}

func (d Description) text() string {
	switch {
	case d.Error != "":
		return "cannot determine whether a slot of the lock " + d.Name + " is free: " + d.Error
	case d.Free:
		return "a slot of the lock " + d.Name + " is free"
	}
	return "a run would wait now: " + d.Why
}
