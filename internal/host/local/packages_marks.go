package local

import (
	"context"
	"fmt"

	"fettle.dev/fettle/internal/host"
)

// refuseHeld keeps what somebody held on the machine, unless the change itself
// says what is to become of the hold.
func (p *packages) refuseHeld(inv inventory, changes []host.PackageChange) error {
	for _, c := range changes {
		have := inv.packages[inv.key(c.Name)]
		if have.Held && c.Held == nil && (c.Absent || c.Version != have.Version) {
			return fmt.Errorf("cannot change package %s: it is held at %s on this host; release it with \"apt-mark unhold %s\", or say held = false", c.Name, have.Version, c.Name)
		}
	}
	return nil
}

// ownHolds are the held packages that a change moves and whose hold it owns.
func ownHolds(inv inventory, changes []host.PackageChange) []string {
	var out []string
	for _, c := range changes {
		if c.Held != nil && inv.packages[inv.key(c.Name)].Held {
			out = append(out, c.Name)
		}
	}
	return out
}

// mark sets holds and dependency marks. A package that was a dependency before
// and whose change says nothing about that is one again: apt-get install calls
// everything that it is told manual.
func (p *packages) mark(ctx context.Context, before, after inventory, changes []host.PackageChange) error {
	todo := map[string][]string{}
	for _, c := range changes {
		is, was := after.packages[after.key(c.Name)], before.packages[before.key(c.Name)]
		if c.Held != nil && *c.Held != is.Held && (is.Version != "" || is.Held) {
			verb := map[bool]string{true: "hold", false: "unhold"}[*c.Held]
			todo[verb] = append(todo[verb], c.Name)
		}
		auto := is.Auto
		if c.Auto != nil {
			auto = *c.Auto
		} else if was.Version != "" {
			auto = was.Auto
		}
		if is.Version != "" && auto != is.Auto {
			verb := map[bool]string{true: "auto", false: "manual"}[auto]
			todo[verb] = append(todo[verb], c.Name)
		}
	}
	for _, verb := range []string{"hold", "unhold", "auto", "manual"} {
		if len(todo[verb]) == 0 {
			continue
		}
		if err := p.tool(ctx, append([]string{"apt-mark", verb}, todo[verb]...)); err != nil {
			return fmt.Errorf("cannot mark packages %s: %w", verb, err)
		}
	}
	return nil
}
