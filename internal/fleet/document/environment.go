package document

import "fettle.dev/fettle/internal/fleet"

// The formats of environments that operators create.
const (
	EnvironmentPageFormat     = "fettle.fleet.environments/1"
	EnvironmentDetailFormat   = "fettle.fleet.environment/1"
	EnvironmentRulePageFormat = "fettle.fleet.environment-rules/1"
)

// EnvironmentRequest creates an environment.
type EnvironmentRequest struct {
	Name   string   `json:"name"`
	Parent string   `json:"parent"` // an environment that the repository declares
	Branch string   `json:"branch"` // or a tag
	Select []string `json:"select"` // targets of the parent, in the form of -t
	// Modules follow the branch. Without modules, the whole content does.
	Modules []string `json:"modules,omitempty"`
	Domain  string   `json:"domain,omitempty"` // "" means NAME below the domain of the parent
	// Vars are variables of the targets, as texts. They are not secret.
	Vars   map[string]string `json:"vars,omitempty"`
	For    int64             `json:"for_ns"` // at most 30 days
	Reason string            `json:"reason,omitempty"`
}

// EnvironmentExtension sets another end of an environment.
type EnvironmentExtension struct {
	For    int64  `json:"for_ns"` // from now, at most 30 days
	Reason string `json:"reason,omitempty"`
}

// EnvironmentState tells whether an environment has an effect.
type EnvironmentState string

// The states of environments that operators create.
const (
	EnvironmentInForce EnvironmentState = "in force"
	EnvironmentEnded   EnvironmentState = "ended"
	// EnvironmentIgnored means that the repository declares an environment of this name, which counts.
	EnvironmentIgnored EnvironmentState = "ignored"
)

// Environment is an environment that an operator created.
type Environment struct {
	Name    string           `json:"name"`
	State   EnvironmentState `json:"state"`
	Parent  string           `json:"parent"`
	Branch  string           `json:"branch"`
	Commit  string           `json:"commit,omitempty"` // of the branch
	Error   string           `json:"error,omitempty"`  // why the branch cannot be read, or ""
	Modules []string         `json:"modules,omitempty"`
	// Domain is the public name: the requested one, or the name below the domain of the parent.
	Domain string `json:"domain,omitempty"`
	// OwnDomain is the requested domain, or "".
	OwnDomain string            `json:"own_domain,omitempty"`
	Vars      map[string]string `json:"vars,omitempty"`
	Targets   int               `json:"targets"`
	Select    []string          `json:"select"`
	By        string            `json:"by"`
	Reason    string            `json:"reason,omitempty"`
	At        int64             `json:"at"` // time of the creation, ns since 1970
	// Rule is the name of the rule that created it for a branch, or "".
	Rule  string `json:"rule,omitempty"`
	Until int64  `json:"until"` // ns since 1970; 0 means until its branch is gone
}

// EnvironmentPage lists environments, sorted by name.
type EnvironmentPage struct {
	Format       string        `json:"format"`
	Environments []Environment `json:"environments"`
}

// EnvironmentDetail is an environment with its targets.
type EnvironmentDetail struct {
	Format      string              `json:"format"`
	Environment Environment         `json:"environment"`
	Members     []EnvironmentMember `json:"members"`
}

// EnvironmentMember is a target of an environment.
type EnvironmentMember struct {
	Target fleet.TargetID `json:"target"`
	Name   string         `json:"name"`
	// Absent is why the target is not in the environment any more, or "".
	Absent string `json:"absent,omitempty"`
	// Commits are the commits of the environment in the assignment of the target: of its root bundle, or of its modules.
	// None means that the assignment does not follow the branch yet.
	Commits []string `json:"commits,omitempty"`
}

// EnvironmentRuleRequest makes a hub create an environment for each branch that matches a pattern.
type EnvironmentRuleRequest struct {
	Name     string   `json:"name"`
	Branches string   `json:"branches"` // a pattern with one *, which matches no slash
	Parent   string   `json:"parent"`
	Select   []string `json:"select"` // targets that the environments can get, in the form of -t
	Each     int      `json:"each"`   // targets of each environment
	Max      int      `json:"max"`    // environments at the same time
	// Keep is the time for which an environment exists after its branch is gone, at most 30 days.
	Keep    int64             `json:"keep_ns"`
	Modules []string          `json:"modules,omitempty"`
	Vars    map[string]string `json:"vars,omitempty"`
	Reason  string            `json:"reason,omitempty"`
}

// EnvironmentRule is a rule with the result of its last poll.
type EnvironmentRule struct {
	Name     string            `json:"name"`
	Branches string            `json:"branches"`
	Parent   string            `json:"parent"`
	Select   []string          `json:"select"`
	Each     int               `json:"each"`
	Max      int               `json:"max"`
	Keep     int64             `json:"keep_ns"`
	Modules  []string          `json:"modules,omitempty"`
	Vars     map[string]string `json:"vars,omitempty"`
	By       string            `json:"by"`
	Reason   string            `json:"reason,omitempty"`
	At       int64             `json:"at"` // ns since 1970
	// Polled means that the leading hub has read the branches, or tried to.
	Polled bool `json:"polled"`
	// Error is why the branches cannot be read, or "". Then the environments do not change.
	Error string `json:"error,omitempty"`
	// Environments are the names of its environments in force, and Waiting the branches without an environment.
	Environments []string        `json:"environments"`
	Waiting      []WaitingBranch `json:"waiting"`
}

// WaitingBranch is a branch that matches a rule, and has no environment.
type WaitingBranch struct {
	Branch string `json:"branch"`
	Why    string `json:"why"`
}

// EnvironmentRulePage lists rules, sorted by name.
type EnvironmentRulePage struct {
	Format string            `json:"format"`
	Rules  []EnvironmentRule `json:"rules"`
}
