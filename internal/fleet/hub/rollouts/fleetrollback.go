package rollouts

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/events"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/rollout"
	"fettle.dev/fettle/internal/fleet/route"
)

// FleetRollbacks stores rollbacks of the fleet, which the hub that leads puts into effect: see assign.Replacement.
type FleetRollbacks struct {
	Log     *Log
	Now     func() time.Time
	Records *records.Table
	Branch  func() string
	Events  events.Recorder
}

// HandleRoutes registers the handlers of rollbacks of the fleet.
func (f FleetRollbacks) HandleRoutes(t *api.Table) {
	api.HandleGet(t, route.FleetRollbacks(), f.FleetRollbacks)
	api.HandlePost(t, route.RollBackFleet(), f.RollBackFleet)
	api.HandlePost(t, route.ReleaseFleet(), f.ReleaseFleet)
}

// FleetRollbacks returns the stored rollbacks, sorted by part like their keys.
func (f FleetRollbacks) FleetRollbacks(context.Context) (document.FleetRollbackPage, error) {
	out := []document.FleetRollback{}
	alarms, _, _ := f.Records.Alarms.Get(records.AlarmsKey)
	held := HeldContent(alarms)
	for _, r := range f.Records.Replacements.Values() {
		out = append(out, document.FleetRollback{Part: r.Part, Held: r.Held, Commit: r.Commit, By: r.By, Reason: r.Reason,
			At: r.At, State: stateOf(held, r)})
	}
	return document.FleetRollbackPage{Format: document.FleetRollbackPageFormat, Rollbacks: out}, nil
}

// RollBackFleet stores a rollback. Repeating it changes nothing.
func (f FleetRollbacks) RollBackFleet(ctx context.Context, by api.Caller,
	r document.FleetRollbackRequest) (document.Done, error) {
	r.Part = partOf(r.Part)
	text, err := f.rollBack(ctx, by.Name, r)
	return api.Done(err, "%s", text)
}

// partOf returns the name of a part. Users may omit "modules/".
func partOf(name string) string {
	if name == assign.AllParts || name == "top" {
		return name
	}
	return api.Directory(name)
}

func (f FleetRollbacks) rollBack(ctx context.Context, by string, r document.FleetRollbackRequest) (string, error) {
	head, _, _ := f.Records.Refs.Get(records.RefKey(f.Branch()))
	if head.Revision.Commit == "" {
		return "", &api.Refusal{Status: api.Conflict, Why: "cannot roll back: the hub has not read the branch yet",
			Hint: "See the state of the repository: fettle status --fleet"}
	}
	if err := f.knows(r.Part); err != nil {
		return "", err
	}
	if err := checkPermit(r, head.Revision.Repository, f.Records.Targets.Values(), f.Now().Unix()); err != nil {
		return "", err
	}
	to, err := f.commits(r, head.Revision.Commit)
	if err != nil {
		return "", err
	}
	var said, released []string
	for _, part := range slices.Sorted(maps.Keys(to)) {
		n := assign.Replacement{Part: part, Held: head.Revision.Commit, Commit: to[part], By: by, Reason: r.Reason,
			At: f.Now().Unix(), Permit: r.Permit}
		stored, err := f.put(ctx, n)
		if err != nil {
			return "", err
		}
		again, err := f.Log.retry(ctx, n, f.Events)
		if err != nil {
			return "", err
		}
		released = append(released, again...)
		if stored {
			text := fmt.Sprintf("%s: HEAD %.12s, %s %.12s", n.Part, n.Held, kindOf(r.To), n.Commit)
			said = append(said, text)
			f.Events.Note(ctx, fleet.HubEvent{Kind: fleet.RolloutChanged, By: by,
				Text: "rollback of the fleet, held: " + text + prefixed(": ", r.Reason)})
		}
	}
	return answer(said, released), nil
}

// answer describes the effect of a rollback: held content, and released rollouts.
func answer(held, released []string) string {
	if len(held)+len(released) == 0 {
		return "There is nothing to do: the branch has this content, or the rollback was ordered before."
	}
	text := ""
	if len(held) > 0 {
		text = "Held: " + strings.Join(held, "; ") + ". "
	}
	if len(released) > 0 {
		text += "Released, because they failed with this content: " + strings.Join(released, ", ") + ". "
	}
	return text + "Rollouts return all targets that follow the branch. Newer content in the branch ends this, or: " +
		"fettle fleet release"
}

// kindOf describes the content to which the fleet returns.
func kindOf(to string) string {
	if to == stableWord {
		return stableWord
	}
	return "commit"
}

func prefixed(before, text string) string {
	if text == "" {
		return ""
	}
	return before + text
}

// ReleaseFleet removes rollbacks.
func (f FleetRollbacks) ReleaseFleet(ctx context.Context, by api.Caller,
	r document.FleetReleaseRequest) (document.Done, error) {
	r.Part = partOf(r.Part)
	text, err := f.release(ctx, by.Name, r)
	return api.Done(err, "%s", text)
}

func (f FleetRollbacks) release(ctx context.Context, by string, r document.FleetReleaseRequest) (string, error) {
	var said []string
	for _, was := range f.Records.Replacements.Values() {
		if r.Part != assign.AllParts && was.Part != r.Part {
			continue
		}
		if err := f.Records.Replacements.Remove(ctx, records.RefKey(was.Part)); err != nil {
			return "", err
		}
		said = append(said, was.Part)
		f.Events.Note(ctx, fleet.HubEvent{Kind: fleet.RolloutChanged, By: by,
			Text: "rollback of the fleet released: " + was.Part + prefixed(": ", r.Reason)})
	}
	if len(said) == 0 {
		return "", &api.Refusal{Status: api.Conflict, Why: "cannot release: there is no rollback of " + r.Part,
			Hint: "List them: fettle fleet rollbacks"}
	}
	return "Released: " + strings.Join(said, ", ") + ". Rollouts deliver the content of the branch again.", nil
}

var fullHash = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`) })

// commits returns the commit to which each part returns, except for parts that need no change.
func (f FleetRollbacks) commits(r document.FleetRollbackRequest, head string) (map[string]string, error) {
	out := map[string]string{}
	switch {
	case r.To == stableWord:
		return f.stable(r.Part, head)
	case !fullHash().MatchString(r.To):
		return nil, &api.Refusal{Status: api.BadRequest,
			Why:  fmt.Sprintf("cannot roll back to %.80q: it is not the full hash of a commit", r.To),
			Hint: "Run the command in a clone of the repository, or use: --to stable"}
	case r.To != head:
		out[r.Part] = r.To
	}
	return out, nil
}

// stable returns the commits of the stable content of a part or of all parts.
func (f FleetRollbacks) stable(part, head string) (map[string]string, error) {
	found, err := f.Log.stable(part, head)
	if err != nil {
		return nil, &api.Refusal{Status: api.Conflict, Why: "cannot roll back: " + err.Error(),
			Hint: "Name a commit: --to COMMIT"}
	}
	maps.DeleteFunc(found, func(_, commit string) bool { return commit == head })
	return found, nil
}

// stable returns the commits of stable content by part, except for parts whose newest content is stable. It is an error
// if there is no stable content, or if lanes have different content. The content of a head that no rollout has
// delivered yet, for example because a window is closed, is unknown here. Then no part is an exception: a replacement
// by the same content has no effect.
func (l *Log) stable(part, head string) (map[string]string, error) {
	l.showing.Lock()
	defer l.showing.Unlock()
	l.shown.sync()
	digests, out := map[string]string{}, map[string]string{}
	delivered := l.shown.delivered(head)
	for _, parts := range l.shown.state.StableContent() {
		for p, d := range parts {
			a, ok := l.shown.contents[rollout.Change{Part: p, Digest: d}]
			if !ok || part != assign.AllParts && p != part {
				continue
			}
			if was := digests[p]; was != "" && was != a.Bundle.Digest {
				return nil, fmt.Errorf("the stable content of %s is different for different strategies", p)
			}
			if digests[p] = a.Bundle.Digest; !delivered || !l.shown.isNewest(p) {
				out[p] = max(out[p], a.Revision.Commit)
			}
		}
	}
	if len(digests) == 0 {
		return nil, fmt.Errorf("no rollout of %s has completed, so there is no stable content", part)
	}
	return out, nil
}

// delivered reports whether the newest rollout has content of a commit.
func (l *folded) delivered(commit string) bool {
	all := l.state.All()
	return len(all) > 0 && slices.ContainsFunc(all[0].Plan.Changes, func(c rollout.Change) bool {
		return l.contents[c].Revision.Commit == commit
	})
}

// isNewest reports whether the newest rollout of a part has completed, so that its stable content is the newest.
func (l *folded) isNewest(part string) bool {
	for _, r := range l.state.All() {
		if slices.ContainsFunc(r.Plan.Changes, func(c rollout.Change) bool { return c.Part == part }) {
			return r.Phase == rollout.Completed || r.Phase == rollout.WithExceptions
		}
	}
	return false
}

// knows returns an error if no target has a module.
func (f FleetRollbacks) knows(part string) error {
	if part == assign.AllParts || part == assign.RootPart {
		return nil
	}
	var names []string
	for _, a := range f.Records.Assignments.Values() {
		for _, m := range a.Assignment.Modules {
			if m.Module == part {
				return nil
			}
			if !slices.Contains(names, m.Module) {
				names = append(names, m.Module)
			}
		}
	}
	hint := "List them: fettle module list --fleet"
	if near := diag.Nearest(part, names, 3); near != "" {
		hint = "Did you mean: " + near
	}
	return &api.Refusal{Status: api.NotFound, Why: fmt.Sprintf("no target has the module %.80q", part), Hint: hint}
}

// put stores a replacement, unless the same one is stored. The newest one wins, so its time is later than the times of
// all others, also if the clocks of hubs differ.
func (f FleetRollbacks) put(ctx context.Context, r assign.Replacement) (stored bool, err error) {
	was, rev, ok := f.Records.Replacements.Get(records.RefKey(r.Part))
	newest := ok
	for _, o := range f.Records.Replacements.Values() {
		newest = newest && (o.Part == r.Part || o.At < was.At || o.Part != assign.AllParts && r.Part != assign.AllParts)
		r.At = max(r.At, o.At+1)
	}
	if newest && was.Held == r.Held && was.Commit == r.Commit && (r.Permit == "" || r.Permit == was.Permit) {
		return false, nil
	}
	return true, f.Records.Replacements.Put(ctx, records.RefKey(r.Part), r, rev)
}
