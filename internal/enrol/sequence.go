package enrol

import "context"

// Enrol enrols a host and waits for the connection of its agent.
func (f Fleet) Enrol(ctx context.Context, h Host) (Result, error) {
	e := &enrolment{Fleet: f, host: h}
	if err := e.install(ctx); err != nil {
		return e.Result, err
	}
	id, err := e.join(ctx)
	if err != nil {
		return e.Result, err
	}
	if e.Adopt && !e.New {
		if err := e.adopt(ctx); err != nil {
			return e.Result, err
		}
	}
	if err := e.start(ctx); err != nil {
		return e.Result, err
	}
	e.Name, err = e.connected(ctx, id)
	return e.Result, err
}
