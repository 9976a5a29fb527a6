package hub

import (
	"context"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/content"
)

// rolledBack rolls a healthy fleet back to an earlier commit: all targets that follow the branch get its content, a
// pinned target keeps its content, a repetition has no effect, and a hub that is killed continues. A release returns
// all targets to the branch.
func (h *simulated) rolledBack(ctx context.Context, last *revision) {
	good := slices.DeleteFunc(slices.Clone(h.judge.main), func(r *revision) bool { return !h.usable(r) })
	if len(good) < 2 {
		return
	}
	h.seen["rollback of a healthy fleet"]++
	to := good[h.n%(len(good)-1)]
	part := rollbackParts[len(good)%5]
	pinned := h.live()[0]
	if err := h.any().targets.Pin(ctx, ann, pinned.id.ID, fleet.Pin{Ref: "main"}); err != nil {
		h.fault("%v", err)
	}
	h.rest(ctx)
	_, err := h.orderRollback(ctx, h.any(), part, to.info.Commit)
	ordered := err == nil
	if err != nil && !strings.Contains(err.Error(), "no target has the module") {
		h.fault("%v", err)
	}
	if h.n%2 == 0 {
		for _, hub := range h.hubs {
			hub.stop()
			hub.start()
		}
	}
	time.Sleep(time.Minute)
	if text, err := h.orderRollback(ctx, h.any(), part, to.info.Commit); err == nil && strings.HasPrefix(text, "Held") {
		h.fault("a repetition has an effect: %s", text)
	}
	late, err := h.sim.enrol(map[string]string{"role": "web"})
	if err != nil {
		h.fault("%v", err)
	} else {
		late.start()
	}
	h.rest(ctx)
	for _, a := range h.live() {
		h.convergedTo(ctx, a, func(p string) fleet.Bundle {
			if ordered && a != pinned && (part == assign.AllParts || part == p || part == assign.RootPart && p == "") {
				return to.bundle(p)
			}
			return last.bundle(p)
		})
	}
	if len(h.wrong) > 0 {
		return
	}
	h.releaseFleet(ctx, h.any(), assign.AllParts)
	h.rest(ctx)
	for _, a := range h.live() {
		h.convergedTo(ctx, a, last.bundle)
	}
}

// rest waits until changes have reached all targets. Some of them wait for the next window.
func (h *simulated) rest(ctx context.Context) {
	time.Sleep(3 * 5 * time.Minute)
	if h.waves {
		opens := time.Now().Truncate(windowInterval).Add(windowInterval)
		time.Sleep(time.Until(opens) + 5*time.Minute)
		h.finish(ctx)
	}
}

// usable reports whether each agent accepts a commit and can apply it.
func (h *simulated) usable(r *revision) bool {
	for _, files := range r.parts {
		if strings.Contains(files["module.hcl"], "cannot") {
			return false
		}
	}
	return (r.signed || h.unsigned) && h.names(r)
}

// names reports whether a commit can be compiled and its root bundle names the modules of each role.
func (s *sim) names(r *revision) bool {
	root := r.parts[""]["fettle.hcl"]
	return r.parts["modules/web"] != nil && !strings.Contains(root, "target_group {") &&
		!strings.Contains(root, `"nobody"`)
}

// signers returns the keys that agents trust, or none.
func (s *sim) signers() ([]byte, error) {
	if s.unsigned {
		return nil, nil
	}
	return s.site.allowed(), nil
}

// bundleOf returns the content of a part of an assignment.
func bundleOf(a fleet.Assignment, part string) (fleet.Assigned, bool) {
	if part == content.RootBundle {
		return a.Root, true
	}
	for _, m := range a.Modules {
		if m.Module == part {
			return m, true
		}
	}
	return fleet.Assigned{}, false
}
