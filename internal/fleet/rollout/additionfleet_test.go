package rollout_test

import (
	"fmt"
	"maps"

	"fettle.dev/fettle/internal/fleet/rollout"
	"pgregory.net/rapid"
)

// groups select the part "extra" for some hosts of the lane main.
type groups struct {
	digest string            // of the part; "" means that there is none
	role   map[string]string // by root content: the role of the hosts that get the part, or "all"
}

// desired returns the parts that the head of its lane has for a host.
func (f *fleet) desired(h *host) map[string]string {
	head := f.branch(h.lane)
	role := f.groups.role[head["top"]]
	if f.groups.digest == "" || role == "" || role != "all" && role != h.role {
		return head
	}
	head = maps.Clone(head)
	head["extra"] = f.groups.digest
	return head
}

// group gives the root part new content, which selects the hosts of the part "extra".
func (f *fleet) group(digest, role string) {
	if f.groups.role == nil {
		f.groups.role = map[string]string{}
	}
	f.head["top"], f.groups.role[digest] = digest, role
}

// missing returns the parts that a host with an assignment lacks.
func missing(h *host, wants []rollout.Change) (out []string) {
	for _, c := range wants {
		if !h.fresh && c.Digest != "" && h.parts[c.Part] == "" {
			out = append(out, c.Part)
		}
	}
	return out
}

// asks returns the missing parts that a new label selects.
func (f *fleet) asks(h *host, missing []string) (out []string) {
	if h.role == h.given || h.parts["top"] != f.branch(h.lane)["top"] {
		return nil
	}
	for _, part := range missing {
		if !h.lacking[part].published {
			out = append(out, part)
		}
	}
	return out
}

// labelled gives a host its labels, which do not wait.
func (f *fleet) labelled(h *host) {
	if h.fresh || h.hold != "" {
		return
	}
	h.given = h.role
	for part, l := range h.lacking {
		l.published = true
		h.lacking[part] = l
	}
}

// regroups changes the label of a host, the hosts with the part "extra", or its content.
func (f *fleet) regroups(rt *rapid.T, h *host, n int) {
	switch rapid.IntRange(0, 5).Draw(rt, "group") {
	case 0, 1:
		h.role = rapid.SampledFrom([]string{"", "a", "b"}).Draw(rt, "role")
	case 2:
		for i, id := range sortedHosts(f) {
			f.hosts[id].role = []string{"a", "b"}[i%2]
		}
	case 3, 4:
		f.group(fmt.Sprintf("group%d", n), rapid.SampledFrom([]string{"", "a", "b", "all", "all"}).Draw(rt, "selected"))
	case 5:
		f.groups.digest = rapid.SampledFrom([]string{"", "e1", "e2", "e3"}).Draw(rt, "extra")
		f.bad["e3"] = true
	}
	if f.groups.digest == "" {
		f.groups.digest = "e1"
	}
}
