package plan

import (
	"fmt"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/journal"
)

// An apt hold belongs to its author. fettle changes a held package only if its step, or the removed
// step, sets held.

// BlockHeld blocks the changes of packages that an administrator holds. A package that leaves the list
// stays managed; a rollback with skipBlocked also skips held packages. All other held packages are
// diagnostics, because the list or the goal of the rollback cannot be reached.
func (p *Plan) BlockHeld(skipBlocked bool) diag.List {
	var problems diag.List
	for i := range p.Changes {
		c := &p.Changes[i]
		if !c.againstHold() {
			continue
		}
		name, version := c.Addr.Name(), c.From.Package().Version
		switch back := p.Operation == journal.OpRollback; {
		case !back && c.Step.IsZero():
			c.block()
			c.Held = true
			c.Why = fmt.Sprintf("an administrator holds it at %s, so it stays until it is released: apt-mark unhold %s",
				version, name)
		case back && skipBlocked:
			c.block()
			c.Why = blockedWhy +
				fmt.Sprintf("an administrator holds it at %s; release it with apt-mark unhold %s", version, name)
		default:
			detail := fmt.Sprintf("An administrator holds %s at version %s on this host, so fettle does not change it. %s",
				name, version, c.release())
			problems = append(problems, c.refused("This package is held", detail)...)
		}
	}
	return problems
}

// againstHold reports whether the change affects a package with a hold that is not from fettle.
func (c Change) againstHold() bool {
	if !c.packageChange() || !c.From.Package().Held {
		return false
	}
	if c.From.Package().Version == "" || c.From.Package().Version == c.To.Package().Version {
		return false
	}
	return !c.OwnsHold()
}

// OwnsHold reports whether the desired step, or the applied step, sets held.
func (c Change) OwnsHold() bool {
	_, says := c.Step.Lookup("held")
	_, said := c.Applied.Lookup("held")
	return says || said
}

// release returns the advice how to release a held package.
func (c Change) release() string {
	text := "Release it with apt-mark unhold " + c.Addr.Name()
	if !c.Step.IsZero() && c.To.Package().Version != "" {
		return text + ", or put held = false into its state."
	}
	return text + "."
}

// heldBack returns the packages that stay because an administrator holds them.
func (p *Plan) heldBack() map[string]bool {
	out := map[string]bool{}
	for _, c := range p.Changes {
		if c.Action == Blocked && c.Held {
			out[c.Addr.Name()] = true
		}
	}
	return out
}

// block leaves the address unchanged and managed.
func (c *Change) block() {
	c.Action, c.From, c.To, c.Captured, c.Differences, c.Irreversible = Blocked, nil, nil, false, nil, ""
}

// refused returns the diagnostic for a change that cannot be made.
func (c Change) refused(summary, detail string) diag.List {
	return diag.List{{Summary: summary, Detail: detail, Range: sourceRange(c.Source), Line: c.StepOrApplied().String()}}
}
