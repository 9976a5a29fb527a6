package e2e

import (
	"maps"
	"slices"
	"strings"
)

// back undoes the run that led from was to now. The packages, their marks and their holds
// are as before. A package that came with the run may stay if another package recommends or
// suggests it.
func (h *history) back(was, now seen) {
	h.t.Helper()
	o := h.act([]string{"rollback", "--yes"}, "")
	after := h.packagesSeen()
	fault := func(format string, args ...any) {
		h.t.Errorf(format+"\n%s%s", append(args, o.Stdout, o.Stderr)...)
	}
	if o.ExitCode != 0 || !maps.Equal(was.held, after.held) {
		fault("exit %d, held before the run: %v, after its rollback: %v", o.ExitCode, was.held, after.held)
	}
	for name := range was.installed {
		if !after.installed[name] || was.auto[name] != after.auto[name] {
			fault("%s was marked automatic: %t; after a rollback it is installed: %t, marked automatic: %t",
				name, was.auto[name], after.installed[name], after.auto[name])
		}
	}
	h.follow(now, after, true)
	for name := range after.installed {
		if !was.installed[name] {
			if after.unneeded[name] || !stays(o.Stdout, name) {
				fault("%s came with a run and is installed after its rollback", name)
			}
			delete(h.brought, name)
		}
	}
}

// stays tells whether a plan names a package that stays because another one needs it.
func stays(output, name string) bool {
	return slices.ContainsFunc(strings.Split(output, "stays: ")[1:], func(s string) bool {
		names, _, _ := strings.Cut(s, ": ")
		return slices.Contains(strings.Split(names, ", "), name)
	})
}

// verdict is a run and what it may do.
type verdict struct {
	wanted                     map[string]bool
	done, impossible, rollback bool
	output                     string
}

func (h *history) judge(before, after seen, v verdict) {
	h.t.Helper()
	fault := func(format string, args ...any) { h.t.Errorf(format+"\n%s", append(args, v.output)...) }
	excused := strings.Contains(v.output, "apt would remove") || strings.Contains(v.output, "an administrator holds")
	if !v.done && !excused && !v.impossible {
		fault("nothing that others hold or need is in the way, and the run failed")
	}
	for name := range v.wanted {
		if v.done && !after.installed[name] {
			fault("%s is wanted and not installed", name)
		}
	}
	for name := range before.installed {
		if after.installed[name] {
			continue
		}
		switch {
		case v.wanted[name]:
			fault("%s is wanted and went", name)
		case !strings.Contains(v.output, name):
			fault("%s went, and no line names it", name)
		case h.brought[name] && (h.managed[name] || before.auto[name] && !before.held[name]):
		case strings.Contains(v.output, "apt removes "+name+", which conflicts") && !before.held[name]:
		default:
			fault("%s went, although fettle had not installed it, or it was marked or held", name)
		}
	}
	h.follow(before, after, v.rollback)
	for _, name := range slices.Sorted(maps.Keys(after.unneeded)) {
		if h.brought[name] && !before.unneeded[name] && v.done {
			fault("%s came with fettle, and nothing needs it any more", name)
		}
	}
}

// follow remembers what came and went. What an administrator had installed comes back with a
// rollback as the administrator's.
func (h *history) follow(before, after seen, rollback bool) {
	for name := range after.installed {
		if !before.installed[name] {
			h.brought[name] = !rollback || !h.foreign[name]
			h.managed[name] = h.managed[name] || rollback && h.brought[name]
			delete(h.foreign, name)
		}
	}
	for name := range before.installed {
		if !after.installed[name] {
			if !h.brought[name] {
				h.foreign[name] = true
			}
			delete(h.brought, name)
			delete(h.managed, name)
		}
	}
}
