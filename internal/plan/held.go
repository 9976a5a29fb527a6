package plan

import (
	"fmt"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/journal"
)

// A hold of apt belongs to whoever set it. fettle changes a held package only if its own
// step, or the one that goes, says what becomes of the hold.

// Holds takes the packages out of the plan that an administrator holds. One that leaves
// the list stays and is still managed, and so does one that a rollback may skip. The
// diagnostics are the others: the list, or the goal of the rollback, cannot be reached.
func (p *Plan) Holds(skipBlocked bool) diag.List {
	var problems diag.List
	for i := range p.Changes {
		c := &p.Changes[i]
		if !c.againstHold() {
			continue
		}
		name, version := c.Addr.Name(), c.From.Package.Version
		switch back := p.Operation == journal.OpRollback; {
		case !back && c.Step == "":
			c.block()
			c.Why, c.Held = fmt.Sprintf("an administrator holds it at %s, so it stays, and is removed when it is released: apt-mark unhold %s", version, name), true
		case back && skipBlocked:
			c.block()
			c.Why = blockedWhy + fmt.Sprintf("an administrator holds it at %s; release it with apt-mark unhold %s", version, name)
		default:
			problems = append(problems, c.refused("This package is held", fmt.Sprintf("An administrator holds %s at version %s on this host, so fettle does not change it. %s", name, version, c.release()))...)
		}
	}
	return problems
}

// againstHold tells whether the change moves a package whose hold is not fettle's.
func (c Change) againstHold() bool {
	if !c.packageChange() || !c.From.Package.Held || c.From.Package.Version == "" || c.From.Package.Version == c.To.Package.Version {
		return false
	}
	return !c.OwnsHold()
}

// OwnsHold tells whether the wanted step, or the one in force until now, says whether the
// package is held.
func (c Change) OwnsHold() bool {
	_, says := parse(c.Step).Lookup("held")
	_, said := parse(c.Applied).Lookup("held")
	return says || said
}

// release says how a held package can be changed.
func (c Change) release() string {
	text := "Release it with apt-mark unhold " + c.Addr.Name()
	if c.Step != "" && c.To.Package.Version != "" {
		return text + ", or put held = false into its state."
	}
	return text + "."
}

// heldBack are the packages that stay since an administrator holds them.
func (p *Plan) heldBack() map[string]bool {
	out := map[string]bool{}
	for _, c := range p.Changes {
		if c.Action == Blocked && c.Held {
			out[c.Addr.Name()] = true
		}
	}
	return out
}

// block leaves the address as it is, and managed.
func (c *Change) block() {
	c.Action, c.From, c.To, c.Found, c.Differences, c.Irreversible = Blocked, nil, nil, false, nil, ""
}

// refused reports the change as one that cannot be made.
func (c Change) refused(summary, detail string) diag.List {
	line := c.Step
	if line == "" {
		line = c.Applied
	}
	return diag.List{{Summary: summary, Detail: detail, Range: sourceRange(c.Source), Line: line}}
}
