package local

import "fettle.dev/fettle/internal/executor"

// storedState is a state in the source map of a run.
type storedState struct {
	executor.StateRef
	After []string `json:"after,omitempty"`
}

func stored(states []executor.StateRef) []storedState {
	out := make([]storedState, len(states))
	for i, st := range states {
		out[i] = storedState{StateRef: st, After: st.After}
	}
	return out
}

// statesOf is the inverse of stored.
func statesOf(all []storedState) []executor.StateRef {
	out := make([]executor.StateRef, len(all))
	for i, st := range all {
		out[i] = st.StateRef
		out[i].After = st.After
	}
	return out
}

// afterOf returns the order of states, by their IDs.
func afterOf(states []executor.StateRef) map[string][]string {
	out := map[string][]string{}
	for _, st := range states {
		if len(st.After) > 0 {
			out[st.ID] = st.After
		}
	}
	return out
}
