package metrics

import "fettle.dev/fettle/internal/fleet/document"

// setScopes counts the scopes by verdict and the tasks by phase. Each known verdict and phase has a value, so that
// alerts need no default.
func setScopes(all []document.Scope, tasks []document.ScopeTask,
	set func(name string, value float64, labels ...string)) {
	verdicts, phases, decide := map[document.Verdict]int{}, map[document.TaskPhase]int{}, 0
	for _, s := range all {
		verdicts[s.Verdict]++
		set("fettle_scope_verdict", 1, s.ID, string(s.Verdict))
	}
	for _, t := range tasks {
		if t.Undeclared {
			continue
		}
		phases[t.Phase]++
		if t.Decide {
			decide++
		}
	}
	for _, v := range []document.Verdict{document.VerdictFailed, document.VerdictUnknown, document.VerdictPending,
		document.VerdictEmpty, document.VerdictReady} {
		set("fettle_scopes", float64(verdicts[v]), string(v))
	}
	for _, p := range []document.TaskPhase{document.TaskWaiting, document.TaskClaimed, document.TaskRunning,
		document.TaskDone, document.TaskFailed, document.TaskUnknown} {
		set("fettle_scope_tasks", float64(phases[p]), string(p))
	}
	set("fettle_scope_tasks_undecided", float64(decide))
}
