package query

// Scopes contains the kinds of scopes and the scopes that a repository declares.
type Scopes struct {
	Kinds  []ScopeKind // built-in kinds too, sorted by name; without disabled ones
	Scopes []Scope     // in the order of declaration
}

// ScopeKind is a kind of scope. Kinds are data: a repository can add and disable kinds.
type ScopeKind struct {
	Name        string
	Description string
	// Overlap means that a target can belong to several scopes of the kind.
	Overlap bool
	// Empty is the verdict of a scope without members: "empty", or "failed".
	Empty string
}

// Scope is a set of targets, or of other scopes, with a verdict of its own: a cluster, for example.
type Scope struct {
	Kind, Name  string
	Description string
	Targets     []string // names of the members, sorted
	Scopes      []string // IDs of the scopes that are members, sorted
	MinMembers  int      // 0: no minimum
	Checks      []ScopeCheck
	Tasks       []ScopeTask
	Source      string // file:line
}

// ID returns KIND/NAME, for example cluster/search. It is unique in a repository.
func (s Scope) ID() string { return s.Kind + "/" + s.Name }

// Probe is a condition that an agent can test. Exactly one of HTTP, TCP, Exec, Unit and File is set.
type Probe struct {
	HTTP     string `json:",omitempty"` // URL
	Status   int    `json:",omitempty"` // expected status of HTTP
	TCP      string `json:",omitempty"` // host:port
	Exec     string `json:",omitempty"` // command, split at blanks
	Unit     string `json:",omitempty"`
	File     string `json:",omitempty"`
	Contains string `json:",omitempty"` // text that the answer, output or file must contain
}

// ScopeCheck is a condition of a scope, which targets test again and again. Times are in seconds.
type ScopeCheck struct {
	Name string
	Probe
	// From are the names of the targets that test it, sorted; nil: the members.
	From []string
	// Quorum is the number of targets that must succeed: all, a number, or a percentage such as "80%".
	Quorum    string
	Every     int64 // interval between two tests
	Timeout   int64 // of one test
	FailAfter int64 // a condition that held fails after this time without success
	// Digest identifies the condition.
	Digest string
	Source string // file:line
}

// ScopeTask is work that a scope does once for each content of the task. Times are in seconds.
type ScopeTask struct {
	Name    string
	Command []string
	Input   string // standard input of the command
	// Verify is a condition that holds exactly if the task is done; nil: none.
	Verify *Probe
	// After are the conditions for the begin: check.NAME and task.NAME of the same scope, sorted.
	After      []string
	Retries    int   // attempts after the first one
	RetryAfter int64 // pause between two attempts
	Timeout    int64 // of one attempt
	// OnUnknown is the effect if the target was lost during the attempt: verify, ask, or retry.
	OnUnknown string
	// Digest identifies the content: command, input, triggers and verification. A task with another digest is done
	// again.
	Digest string
	Source string // file:line
}
