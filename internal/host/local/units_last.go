package local

import (
	"context"
	"fmt"
	"time"
)

// lastLimit is the time that a unit must run to count as started.
const lastLimit = time.Second

// launch is how a unit was when its start had ended.
type launch struct {
	at       time.Time
	restarts uint32
}

// remember notes that a unit was started just now.
func (u *units) remember(ctx context.Context, name string) {
	p, err := u.props(ctx, name)
	if err != nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.launched == nil {
		u.launched = map[string]launch{}
	}
	restarts, _ := p["NRestarts"].(uint32)
	u.launched[name] = launch{time.Now(), restarts}
}

// Lasts implements unit.Lasting. Many units that were started wait for the same
// second.
func (u *units) Lasts(ctx context.Context, name string) error {
	name = unitName(name)
	u.mu.Lock()
	l, ok := u.launched[name]
	u.mu.Unlock()
	if !ok {
		return nil
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(time.Until(l.at.Add(lastLimit))):
	}
	p, err := u.props(ctx, name)
	if err != nil {
		return err
	}
	restarts, _ := p["NRestarts"].(uint32)
	switch {
	case p.text("ActiveState") == "failed" || p.text("SubState") == "auto-restart":
		return u.explain(ctx, "keep", name, fmt.Sprintf("it started and ended within %s%s", lastLimit, exitText(p)), nil)
	case restarts > l.restarts:
		return u.explain(ctx, "keep", name,
			fmt.Sprintf("it started and ended within %s, and systemd has restarted it %d times since", lastLimit,
				restarts-l.restarts), nil)
	}
	return nil
}
