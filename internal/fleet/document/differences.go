package document

// CommitDifferencesFormat is the format of CommitDifferences.
const CommitDifferencesFormat = "fettle.fleet.differences/1"

// CommitDifferences compares the newest assignment of each target with the assignment that it would get if the branch
// of the fleet were at a commit. Secrets are placeholders in all lists.
type CommitDifferences struct {
	Format  string `json:"format"`
	Name    string `json:"name"` // as it was requested
	Commit  string `json:"commit"`
	Subject string `json:"subject,omitempty"`
	Time    int64  `json:"time"` // of the commit, seconds since 1970
	// Plan describes the rollouts that would begin, with their worst case.
	Plan RolloutPlan `json:"plan"`
	// Targets is the number of active targets. Each one is in exactly one of Unchanged, Groups, Failed and NotCompared.
	Targets   int `json:"targets"`
	Unchanged int `json:"unchanged"`
	// Groups are targets with the same difference, the largest first. MoreGroups further ones are left out, with
	// MoreTargets targets.
	Groups      []DifferenceGroup `json:"groups"`
	MoreGroups  int               `json:"more_groups"`
	MoreTargets int               `json:"more_targets"`
	// Failed are targets that the hub cannot compile, NotCompared targets that it did not try to compile.
	Failed      []TargetsWithReason `json:"failed"`
	NotCompared []TargetsWithReason `json:"not_compared"`
	Tests       TestResults         `json:"tests"`
}

// DifferenceGroup are targets with the same difference of their lists.
type DifferenceGroup struct {
	Count   int      `json:"count"`
	Targets []string `json:"targets"` // names, sorted; not all of them if there are very many
	// Lines are removed (-) and added (+) steps. {target} replaces the name of the target, and sha256:… a digest that
	// differs between targets. MoreLines further ones are left out.
	Lines     []DifferenceLine `json:"lines"`
	MoreLines int              `json:"more_lines"`
}

// DifferenceLine is a removed or added step.
type DifferenceLine struct {
	Text   string `json:"text"`
	Source string `json:"source,omitempty"` // file:line, for one of the targets; of a removed step before the commit
}

// TargetsWithReason are targets to which the same reason applies.
type TargetsWithReason struct {
	Reason  string   `json:"reason"`
	Count   int      `json:"count"`
	Targets []string `json:"targets"` // names, sorted; not all of them if there are very many
}

// TestResults are the results of the tests of the repository at the commit. They need no host.
type TestResults struct {
	Total  int          `json:"total"`
	Passed int          `json:"passed"`
	Failed []FailedTest `json:"failed"`
	NotRun int          `json:"not_run"`         // because of the time limit
	Error  string       `json:"error,omitempty"` // why the tests cannot be found
}

// FailedTest is a test with the first difference from its expectations.
type FailedTest struct {
	ID     string `json:"id"` // its file and its name
	Reason string `json:"reason"`
}
