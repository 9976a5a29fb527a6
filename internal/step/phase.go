package step

import (
	"path"
	"strconv"

	"fettle.dev/fettle/internal/addr"
)

// MaxPhases is how many phases a list may have.
const MaxPhases = 100

// OutputStdout is the value of EXEC's output for the standard output of the command. Any other
// value is a path.
const OutputStdout = "stdout"

// Phase is which of several states of its address a step brings about, from 1.
func (s Step) Phase() int {
	if n := len(s.Attrs); n > 0 && s.Attrs[n-1].Key == phase.Name {
		if k, err := strconv.Atoi(s.Attrs[n-1].Value); err == nil {
			return k
		}
	}
	return 1
}

// Final returns the list after all phases: of the steps that write one address, only the step of
// the last phase. A list without phases is returned unchanged.
func (l List) Final() List {
	last := map[addr.Addr]int{}
	for _, s := range l {
		if k := s.Phase(); k > 1 {
			last[s.Addr()] = max(k, last[s.Addr()])
		}
	}
	if len(last) == 0 {
		return l
	}
	out := make(List, 0, len(l))
	for _, s := range l {
		if s.Phase() >= last[s.Addr()] {
			out = append(out, s)
		}
	}
	return out
}

// Stages splits a list with phases into lists that must hold one after another. Stage k has all
// steps before the first step of phase k+1, in their states at that point; the last stage is Final.
// A list without phases has one stage.
func (l List) Stages() []List {
	var out []List
	k := 1
	for i, s := range l {
		if p := s.Phase(); p > k {
			for ; k < p; k++ {
				out = append(out, l[:i].Final())
			}
		}
	}
	return append(out, l.Final())
}

// Later are the steps of later phases than stage k, from 1, by address, in the
// order of the list.
func (l List) Later(k int) map[addr.Addr][]Step {
	out := map[addr.Addr][]Step{}
	for _, s := range l {
		if s.Phase() > k {
			out[s.Addr()] = append(out[s.Addr()], s)
		}
	}
	return out
}

// phaseRule refuses an invalid phase. The first phase is never written, so that each step has only
// one text.
func (c *checker) phaseRule(s *Step, tokens []token) {
	v, ok := s.Lookup(phase.Name)
	if !ok {
		return
	}
	if k, err := strconv.Atoi(v); err != nil || k < 2 || k > MaxPhases || strconv.Itoa(k) != v {
		c.fault(find(tokens, phase.Name), "Invalid phase", "A phase is a number from 2 to %d; phase 1 is not written.",
			MaxPhases)
	}
}

func (c *checker) outputRule(s *Step, tokens []token) {
	v, ok := s.Lookup("output")
	if ok && v != OutputStdout && (!path.IsAbs(v) || path.Clean(v) != v) {
		c.fault(find(tokens, "output"), "Invalid output", "%q is neither stdout nor a clean absolute path.", clip(v))
	}
}
