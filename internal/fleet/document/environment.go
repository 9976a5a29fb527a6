package document

import "fettle.dev/fettle/internal/fleet"

// The formats of environments that operators create.
const (
	EnvironmentPageFormat   = "fettle.fleet.environments/1"
	EnvironmentDetailFormat = "fettle.fleet.environment/1"
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
	At        int64             `json:"at"`    // time of the creation, ns since 1970
	Until     int64             `json:"until"` // ns since 1970
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
