package pkg

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/verb"
)

// remains tells what the removals among changes leave. It is only for a note, so
// an error means that nothing is known.
func remains(ctx context.Context, p host.Packages, changes []host.PackageChange) map[string]image.Remains {
	var going []string
	for _, c := range changes {
		if c.Absent && !c.Purge {
			going = append(going, c.Name)
		}
	}
	if len(going) == 0 {
		return nil
	}
	all, err := p.Remains(ctx, going)
	if err != nil {
		return nil
	}
	return all
}

// noteRemains reports what is left of packages that were removed.
func noteRemains(ctx context.Context, e verb.Env, p host.Packages, leave map[string]image.Remains) {
	names := slices.Sorted(maps.Keys(leave))
	if len(names) == 0 {
		return
	}
	now, err := p.Installed(context.WithoutCancel(ctx), names)
	if err != nil {
		return
	}
	for _, name := range names {
		if now[name].Version != "" {
			continue
		}
		if left := stillThere(e.Host, leave[name]); left.String() != "" {
			stay, it := left.Stay()
			e.Note(fmt.Sprintf("package %s is removed; its %s %s. To delete %s: apt-get purge %s, or ensure = \"purged\"",
				name, left, stay, it, name))
		}
	}
}

// stillThere is the part of r that exists on the host.
func stillThere(h host.Reader, r image.Remains) image.Remains {
	var out image.Remains
	for _, f := range r.Conffiles {
		if there, err := host.Exists(h, f); err == nil && there {
			out.Conffiles = append(out.Conffiles, f)
		}
	}
	for _, d := range r.Dirs {
		if names, err := h.ReadDir(d); err == nil && len(names) > 0 {
			out.Dirs = append(out.Dirs, d)
		}
	}
	return out
}
