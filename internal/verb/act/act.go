// Package act is ACT: a lazy action that a change elsewhere notified.
//
//	ACT reload nginx.service on=file:/etc/nginx/nginx.conf
//	ACT run newaliases /usr/bin/newaliases on=file:/etc/aliases
package act

import (
	"context"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb/exec"
	"fettle.dev/fettle/internal/verb/unit"
)

// Run performs the action. stale is set if the list no longer has the action, or if the action is
// being undone. A unit that is missing or not running is then not touched.
func Run(ctx context.Context, h host.Host, s step.Step, stale bool) error {
	action, subject := s.Args[0], s.Args[1]
	if action == "run" {
		d, _ := time.ParseDuration(s.Get("timeout"))
		return exec.Run(ctx, h, host.Command{Argv: s.Args[2:], Timeout: d, Mutates: true})
	}
	units, err := h.Units()
	if err != nil {
		return fmt.Errorf("cannot %s %s: %w", action, subject, err)
	}
	if action == "reload" || stale {
		u, err := units.Unit(ctx, subject)
		if err != nil {
			return fmt.Errorf("cannot %s %s: %w", action, subject, err)
		}
		if u.Active != "active" && u.Active != "reloading" && (stale || u.Active == "inactive") {
			return nil // it reads its configuration when it starts
		}
	}
	ctx, cancel := unit.Limited(ctx, s)
	defer cancel()
	return units.Job(ctx, action, subject)
}
