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

// EnvironmentName returns the name of the environment for a branch with a part: the name of the rule, a hyphen, and the
// part with lower-case letters. Each character that a name cannot have becomes a hyphen, and hyphens at the end are
// removed. Names of rules contain no hyphen, so different rules give different names. Several parts can give the same
// name.
func (r EnvironmentRule) EnvironmentName(part string) string {
	valid := strings.Map(func(c rune) rune {
		switch {
		case c >= 'A' && c <= 'Z':
			return c - 'A' + 'a'
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			return c
		}
		return '-'
	}, part)
	return strings.TrimRight(r.Name+"-"+valid, "-")
}

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
