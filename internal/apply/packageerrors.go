package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/verb"
	"fettle.dev/fettle/internal/verb/pkg"
)

// withCommand adds to an error the command with which a user can make the change by hand.
func (r *packages) withCommand(err error, moves []*verb.GroupMove) error {
	if text := (pkg.Pkg{}).Command(context.WithoutCancel(r.ctx), r.env, moves); text != "" {
		return fmt.Errorf("%w; to do it by hand: %s", err, text)
	}
	return err
}

// withAudit adds the unfinished packages of dpkg to the error of a transaction.
func (r *packages) withAudit(err error) error {
	p, perr := r.Host.Packages()
	if perr != nil {
		return err
	}
	state, perr := p.Audit(context.WithoutCancel(r.ctx))
	if perr != nil || state == "" {
		return err
	}
	return fmt.Errorf(
		"%w; dpkg has unfinished packages: %s; to finish them: fettle recover, or the next run that changes packages", err,
		state)
}

// blamedFirst moves the packages that apt or dpkg name in an error to the front, so that the report
// shows their lines first. It returns their number.
func blamedFirst(bad []int, moves []*verb.GroupMove, err error) int {
	names := namedBy(err)
	n := 0
	for at, k := range bad {
		if slices.Contains(names, moves[k].Step.Args[0]) {
			copy(bad[n+1:at+1], bad[n:at])
			bad[n] = k
			n++
		}
	}
	return n
}

// namedBy returns the packages that an error names, or otherwise all of its words.
func namedBy(err error) []string {
	var named *host.PackagesError
	if errors.As(err, &named) && len(named.Names) > 0 {
		return named.Names
	}
	if inner := errors.Unwrap(err); inner != nil {
		err = inner // without the names of the whole transaction
	}
	var out []string
	for _, w := range strings.Fields(err.Error()) {
		out = append(out, strings.Trim(w, "'\"‘’,;:."))
	}
	return out
}

// oneOf adds the possible packages to an error in which apt and dpkg name no package of the
// transaction.
func oneOf(bad []int, moves []*verb.GroupMove, err error) error {
	if len(bad) < 2 {
		return err
	}
	return fmt.Errorf("one of %s: %w", nameAll(bad, moves), err)
}

func nameAll(of []int, moves []*verb.GroupMove) string {
	names := make([]string, len(of))
	for n, k := range of {
		names[n] = moves[k].Step.Args[0]
	}
	return strings.Join(names, ", ")
}

func (r *packages) noteStuck(stuck []*verb.GroupMove) {
	if len(stuck) == 0 {
		return
	}
	names := make([]string, len(stuck))
	for k, m := range stuck {
		names[k] = m.Step.Args[0]
		if now, err := (pkg.Pkg{}).Observe(r.ctx, r.env, m.Step); err == nil {
			m.From = now
		}
	}
	r.note(r.withCommand(fmt.Errorf("not undone: %s", strings.Join(names, ", ")), stuck).Error())
}
