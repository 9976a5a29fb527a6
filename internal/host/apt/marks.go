package apt

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/host"
)

// refuseHeld refuses to change packages with a hold, unless the change itself sets the hold.
func (p *packages) refuseHeld(inv inventory, changes []host.PackageChange) error {
	for _, c := range changes {
		have := inv.packages[inv.key(c.Name)]
		if have.Held && c.Held == nil && (c.Absent || c.Version != have.Version) {
			return &host.PackagesError{Names: []string{c.Name},
				Err: fmt.Errorf("cannot change package %s: it is held at %s on this host; "+
					"release it with \"apt-mark unhold %s\", or set held = false", c.Name, have.Version, c.Name)}
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

// mark sets holds and dependency marks. apt-get install marks all its arguments as manual. A
// package that was a dependency is therefore marked as a dependency again, unless its change sets
// the mark.
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

// stay removes the mark of an interrupted removal from packages that must remain, because dpkg does
// not finish packages with this mark.
func (p *packages) stay(ctx context.Context, inv inventory, changes []host.PackageChange) error {
	want := map[string]string{}
	for _, c := range changes {
		if name := inv.key(c.Name); !c.Absent && inv.packages[name].Leaving() {
			want[name] = "install"
		}
	}
	return p.choose(ctx, want)
}

// unmark restores the earlier marks of packages that a transaction should have removed but did not.
func (p *packages) unmark(ctx context.Context, before, after inventory) error {
	want := map[string]string{}
	for name, is := range after.packages {
		was := before.packages[name]
		if is.Leaving() && was.Version != "" && !was.Leaving() {
			want[name] = map[bool]string{true: "hold", false: "install"}[was.Held]
		}
	}
	return p.choose(ctx, want)
}

// unfinishedStay is stay for all that dpkg has begun to remove.
func (p *packages) unfinishedStay(ctx context.Context, inv inventory) error {
	want := map[string]string{}
	for name, is := range inv.packages {
		if is.Leaving() && is.Unfinished() {
			want[name] = "install"
		}
	}
	return p.choose(ctx, want)
}

// choose sets dpkg's selections of packages.
func (p *packages) choose(ctx context.Context, want map[string]string) error {
	if len(want) == 0 {
		return nil
	}
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(want)) {
		fmt.Fprintf(&lines, "%s %s\n", name, want[name])
	}
	r, err := p.h.Run(ctx, host.Command{Argv: []string{"dpkg", "--set-selections"}, Stdin: []byte(lines.String()),
		Env: aptEnv(), Timeout: time.Minute, Mutates: true})
	if err == nil && r.ExitCode != 0 {
		err = fmt.Errorf("dpkg --set-selections: %s", firstLine(append(r.Stderr, r.Stdout...)))
	}
	if err != nil {
		return fmt.Errorf("cannot unmark packages that stay: %w", err)
	}
	return nil
}
