package round

import (
	"maps"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/fleet/fanout"
)

// Order returns the statuses in the order of the output: targets that need the user are last, where they
// are visible.
func Order() []fanout.Status {
	return []fanout.Status{fanout.OK, fanout.Changed, fanout.Skipped, fanout.Unreachable, fanout.Failed}
}

// Group is several targets with the same status and the same text.
type Group struct {
	Status  fanout.Status
	Targets []string // sorted
	Body    string   // of the first target
}

// Groups sorts outcomes by status, and puts targets with the same text together. Texts are also the same
// if they differ only in the names of their targets.
func Groups(all map[string]Outcome) []Group {
	var out []Group
	for _, st := range Order() {
		at := map[string]int{}
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if all[name].Status != st {
				continue
			}
			body, key := textOf(name, all[name])
			i, ok := at[key]
			if !ok {
				i = len(out)
				at[key] = i
				out = append(out, Group{Status: st, Body: body})
			}
			out[i].Targets = append(out[i].Targets, name)
		}
	}
	return out
}

// textOf returns the text of a target, and the text without the name of the target.
func textOf(name string, o Outcome) (body, key string) {
	body = o.Body
	if body == "" && o.Status == fanout.Skipped {
		body = o.Line + "\n"
	}
	if o.Said {
		return body, body
	}
	return body, strings.ReplaceAll(body, name, "\x00")
}

// Count returns the number of targets with each status.
func Count(all map[string]Outcome) map[fanout.Status]int {
	count := map[fanout.Status]int{}
	for _, o := range all {
		count[o.Status]++
	}
	return count
}

// Results returns the status of each target in a word.
func Results(all map[string]Outcome) map[string]string {
	out := map[string]string{}
	for name, o := range all {
		out[name] = o.Status.String()
	}
	return out
}

// Worse returns the outcome that needs more attention: the later one in Order, otherwise b.
func Worse(a, b Outcome) Outcome {
	order := Order()
	if slices.Index(order, a.Status) > slices.Index(order, b.Status) {
		return a
	}
	return b
}
