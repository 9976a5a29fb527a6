package records

import "strings"

// EnvironmentRule makes the leading hub create an environment for each branch that matches a pattern.
type EnvironmentRule struct {
	Name     string            `json:"name"`
	Branches string            `json:"branches"` // a pattern with one *
	Parent   string            `json:"parent"`
	Select   []string          `json:"select"` // the targets that environments can get, in the form of -t
	Each     int               `json:"each"`   // targets of each environment
	Max      int               `json:"max"`    // environments at the same time
	Keep     int64             `json:"keep"`   // seconds for which an environment exists after its branch is gone
	Modules  []string          `json:"modules,omitempty"`
	Vars     map[string]string `json:"vars,omitempty"`
	By       string            `json:"by"`
	Reason   string            `json:"reason,omitempty"`
	At       int64             `json:"at"` // ns since 1970
}

// Prefix returns the text before the * of the pattern.
func (r EnvironmentRule) Prefix() string {
	before, _, _ := strings.Cut(r.Branches, "*")
	return before
}

// Part returns the part of a branch that the * of the pattern matches. It contains no slash.
func (r EnvironmentRule) Part(branch string) (part string, matches bool) {
	before, after, _ := strings.Cut(r.Branches, "*")
	part, matches = strings.CutPrefix(branch, before)
	if matches {
		part, matches = strings.CutSuffix(part, after)
	}
	return part, matches && part != "" && !strings.Contains(part, "/")
}

// EnvironmentName returns the name of the environment for a branch with a part. Names of rules contain no hyphen, so
// each pair of a rule and a part has a name of its own.
func (r EnvironmentRule) EnvironmentName(part string) string { return r.Name + "-" + part }

// FollowedBranches is the result of the last poll for a rule.
type FollowedBranches struct {
	Error   string          `json:"error,omitempty"` // why the branches cannot be read, or ""
	Waiting []WaitingBranch `json:"waiting,omitempty"`
}

// WaitingBranch is a branch that matches a rule, and has no environment.
type WaitingBranch struct {
	Branch string `json:"branch"`
	Why    string `json:"why"`
}
