package web

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
)

// tab is a link of the navigation.
type tab struct {
	Path, Name string
	Here       bool
}

func newTab(path, name, here string) tab { return tab{path, name, path == here} }

// moment is a time that is shown relative to now. Time is in ns since 1970; 0 means never.
type moment struct {
	Now  time.Time
	Time int64
}

func newMoment(now time.Time, t int64) moment { return moment{now, t} }

// rows is the data of a table of targets.
type rows struct {
	Now  time.Time
	Rows []document.Target
}

func newRows(now time.Time, all []document.Target) rows { return rows{now, all} }

// events is the data of a list of events.
type events struct {
	Now    time.Time
	Events []document.Event
}

func newEvents(now time.Time, all []document.Event) events { return events{now, all} }

// sentSignals is the data of a table of signals that were sent.
type sentSignals struct {
	Now  time.Time
	Sent []document.SentSignal // the newest first
}

func newSentSignals(now time.Time, all []document.SentSignal) sentSignals {
	all = slices.Clone(all)
	slices.Reverse(all)
	return sentSignals{now, all}
}

// waveName returns the name of the current wave of a rollout.
func waveName(r document.Rollout) string {
	if r.Wave < len(r.Waves) {
		return r.Waves[r.Wave].Name
	}
	return ""
}

// membersOf returns the number of targets that take part in a rollout.
func membersOf(r document.Rollout) (n int) {
	for _, w := range r.Waves {
		n += w.Targets
	}
	return n
}

// readyOf returns the number of targets of a rollout that are ready with the change.
func readyOf(r document.Rollout) (n int) {
	for _, w := range r.Waves {
		n += w.Ready
	}
	return n
}

// slotText returns the state of a holder of a slot for display.
func slotText(s document.LockHolderState) string {
	if s == document.SlotHeld {
		return "has a slot"
	}
	return string(s)
}

// memberText returns the state of a member of a barrier for display.
func memberText(s document.BarrierMemberState) string { return strings.ReplaceAll(string(s), "_", " ") }

// scopesTab is the page to which the link of the navigation leads.
const scopesTab = "/scopes"

// scopePath returns the address of the page about a scope, KIND/NAME.
func scopePath(id string) string {
	kind, name, _ := strings.Cut(id, "/")
	return scopesTab + "/" + url.PathEscape(kind) + "/" + url.PathEscape(name)
}

// attemptText returns the state of an attempt for display.
func attemptText(a document.TaskAttempt) string {
	switch {
	case a.Outcome == fleet.TaskNotDone:
		return "not done"
	case a.Ended == 0:
		return "running"
	}
	return cmp.Or(string(a.Outcome), "unknown")
}

// pageAfter returns the address of another page of a table. The page at path has it, with a query.
func pageAfter(path string, q url.Values, cursor string) string {
	q = maps.Clone(q)
	if q.Set("after", cursor); cursor == "" {
		q.Del("after")
	}
	return path + "?" + q.Encode()
}
