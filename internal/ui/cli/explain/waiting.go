package explain

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/ui/cli"
)

// want adds the desired state of an address: the last of its phases, and all phases if there are
// several.
func (k *known) want(e *explanation) {
	var phases []phaseDoc
	for _, st := range k.wanted.List {
		if st.Addr() != e.Addr {
			continue
		}
		e.Wanted = st.String()
		if e.Applied == "" {
			e.phase = st.Phase()
		}
		if e.Source == "" {
			e.Source = st.Source
		}
		if st.Verb != step.Act {
			phases = append(phases, phaseDoc{Phase: st.Phase(), State: k.stateAt(e.Addr, st.Phase()), Source: st.Source,
				Step: e.Wanted})
		}
	}
	for _, h := range k.waits {
		if h.Addr == e.Addr {
			e.Deferred = waitsFor(h)
			phases = append(phases, phaseDoc{Phase: len(phases) + 1, State: h.ID, Source: h.Source})
		}
	}
	if len(phases) > 1 {
		e.Phases = phases
	}
}

// stateAt returns the state that writes an address in a phase, otherwise any state that writes it.
func (k *known) stateAt(a addr.Addr, phase int) string {
	other := ""
	for _, st := range k.allStates() {
		switch {
		case !slices.Contains(st.Addrs, a):
		case st.Phase(a) == phase:
			return st.ID
		case other == "":
			other = st.ID
		}
	}
	return other
}

// waitsFor says why a state is deferred.
func waitsFor(h executor.Deferred) string {
	if h.WaitsFor != "" {
		return h.WaitsFor
	}
	if len(h.Needs) == 0 {
		return "depends on a state that waits for a value from a run"
	}
	names := make([]string, len(h.Needs))
	for i, a := range h.Needs {
		names[i] = a.String()
	}
	return "waits for the output of " + strings.Join(names, ", ")
}

// findWaiting returns the waiting states that what matches, except states that are already explained.
func (k *known) findWaiting(what string, done []explanation) []executor.Deferred {
	file, line := "", 0
	if m := fileLine().FindStringSubmatch(what); m != nil && !isAddr(what) {
		typed, _ := strconv.Atoi(m[2])
		file, line = m[1], k.beginsAt(m[1], typed)
	}
	var out []executor.Deferred
	for _, h := range k.waits {
		f, n := splitSource(h.Source)
		here := line > 0 && n == line && sameFile(f, file)
		writes := h.Addr != "" && slices.Contains([]string{h.Addr.String(), h.Addr.Path(), h.Addr.Name()}, what)
		told := h.Addr != "" && slices.ContainsFunc(done, func(e explanation) bool { return e.Addr == h.Addr })
		if (here || writes || isCalled(h.ID, what)) && !told {
			out = append(out, h)
		}
	}
	return out
}

// explainWaiting is the way from a state that waits to its source.
func explainWaiting(ctx context.Context, s *cli.Printer, k *known, h executor.Deferred) explanation {
	e := explanation{Addr: h.Addr, State: h.ID, Source: h.Source, Deferred: waitsFor(h)}
	k.sourceLine(ctx, &e, "")
	return e
}
