package web

import (
	"fmt"
	"html/template"
	"net/url"
	"strings"
	"time"

	"fettle.dev/fettle/internal/duration"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/graph"
)

// functions are the functions of templates.
func functions() template.FuncMap {
	return template.FuncMap{
		"asset": asset, "ago": ago, "at": at, "mark": mark, "kind": kindOf, "short": short, "path": url.PathEscape,
		"label": func(module string) string { return graph.Shortened(partName(module)) },
		"part":  partName, "percent": percent, "seconds": func(s int64) int64 { return s * 1e9 },
		"address": withParameter,
		"text":    func(v any) string { return fmt.Sprint(v) },
		"tab":     newTab, "since": newMoment, "rows": newRows, "events": newEvents,
		"sent": newSentSignals, "waveName": waveName,
		"membersOf": membersOf, "readyOf": readyOf,
		"tabs":       func(name, here string, alone bool) hostTabs { return hostTabs{name, here, alone} },
		"unanswered": newUnanswered, "bounded": bounded,
		"list": func(all ...string) []string { return all },
		"add":  func(a, b int) int { return a + b },
		"sign": signOf,
		"slot": slotText, "member": memberText, "attempt": attemptText, "scopePath": scopePath,
		"lasts": func(ns int64) string { return duration.Text(time.Duration(ns)) },
		"days":  func() []int { return []int{1, 7, 30} },
	}
}

// signOf returns the class of a line of a difference.
func signOf(line string) string {
	switch {
	case strings.HasPrefix(line, "+"):
		return "added"
	case strings.HasPrefix(line, "-"):
		return "removed"
	}
	return ""
}

// mark returns a character for a state, so that states differ without their colours.
func mark(state any) string {
	switch fmt.Sprint(state) {
	case "ready", "ok", "completed", "passed", "acknowledged", "active", "succeeded", "done",
		"arrived", "connected", "verified":
		return "●"
	case "failed", "cloned", "error", "rolled-back", "rolling-back", "refused", "check-failed",
		"lost":
		return "✖"
	case "drifted", "unresponsive", "silent", "late", "interrupted", "completed-with-exceptions",
		"undone", "overdue", "offline":
		return "▲"
	case "applying", "granted", "taken", "unfinished", "has a slot", "claimed", "running":
		return "◐"
	case "frozen", "paused", "aborted", "held":
		return "■"
	case "unknown", "none":
		return "?"
	}
	return "○"
}

// kindOf returns the class of a state: good, bad, warn, busy or off.
func kindOf(state any) string {
	switch fmt.Sprint(state) {
	case "ready", "ok", "completed", "passed", "acknowledged", "succeeded", "done", "arrived",
		"connected", "verified":
		return "good"
	case "failed", "cloned", "error", "rolled-back", "rolling-back", "refused", "check-failed",
		"lost":
		return "bad"
	case "drifted", "unresponsive", "silent", "late", "interrupted", "unknown", "completed-with-exceptions", "paused",
		"undone", "overdue", "offline":
		return "warn"
	case "applying", "granted", "pending", "active", "taken", "blocked", "deferred", "waits", "unfinished",
		"has a slot", "expected", "claimed", "running", "waiting":
		return "busy"
	}
	return "off"
}

// ago returns the time since t, in ns since 1970, for example "3m".
func ago(now time.Time, t int64) string {
	if t == 0 {
		return "never"
	}
	d := now.Sub(time.Unix(0, t))
	if d < 0 {
		return "now"
	}
	if days := int(d / (24 * time.Hour)); days >= 2 {
		return fmt.Sprintf("%dd", days)
	}
	for _, unit := range []time.Duration{time.Hour, time.Minute} {
		if d >= 2*unit {
			return duration.Text(d.Truncate(unit))
		}
	}
	return duration.Text(d.Truncate(time.Second))
}

// at returns a time in ns since 1970 in the form of RFC 3339.
func at(t int64) string { return time.Unix(0, t).UTC().Format(time.RFC3339) }

// short returns the beginning of a commit.
func short(commit string) string { return commit[:min(12, len(commit))] }

// partName returns the name of a part of an assignment.
func partName(module string) string {
	if module == "" || module == "top" {
		return "root bundle"
	}
	return strings.TrimPrefix(module, "modules/")
}

// percent returns the part of a whole, from 0 to 100.
func percent(n, of int) int {
	if of <= 0 {
		return 0
	}
	return min(100, n*100/of)
}

// stateCount is a state with the number of its targets.
type stateCount struct {
	State document.State
	Count int
}

// stateCounts returns the states that occur, the worst first.
func stateCounts(counts map[document.State]int) (out []stateCount) {
	for _, s := range document.States() {
		if n := counts[s]; n > 0 {
			out = append(out, stateCount{s, n})
		}
	}
	return out
}

// withParameter returns the address of a page with another value of a parameter of its query; "" removes it.
func withParameter(path, name string, value any) string {
	u, err := url.ParseRequestURI(path)
	if err != nil {
		return "/"
	}
	q := u.Query()
	q.Del("offset")
	q.Del("after")
	if q.Set(name, fmt.Sprint(value)); q.Get(name) == "" {
		q.Del(name)
	}
	return (&url.URL{Path: u.Path, RawQuery: q.Encode()}).String()
}

// hostTabs are the links between the pages of a target.
type hostTabs struct {
	Name, Here string
	Alone      bool // there is no hub
}

// unansweredData explains why a page has no data of the host.
type unansweredData struct {
	Now     time.Time
	Problem *document.Problem
	Target  document.Target
}

func newUnanswered(now time.Time, p *document.Problem, t document.Target) unansweredData {
	return unansweredData{now, p, t}
}
