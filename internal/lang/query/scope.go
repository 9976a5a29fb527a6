package query

import "fettle.dev/fettle/internal/lang/source"

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
	// Executor does the tasks: "hub", or "member". Scopes whose executor is "hub" have no members. "" means "member", in
	// the data of an older hub.
	Executor string `json:",omitempty"`
}

// ByHubs reports whether hubs do the tasks of scopes of this kind.
func (k ScopeKind) ByHubs() bool { return k.Executor == source.HubExecutor }

// Scope is a set of targets, or of other scopes, with a verdict of its own: a cluster, for example.
type Scope struct {
	Kind, Name  string
	Description string
	// Targets are the names of the members, sorted. A target that several environments select is a member of the
	// innermost one. If no environment is the innermost, the target is a member of all that select it.
	Targets    []string
	Scopes     []string // IDs of the scopes that are members, sorted
	MinMembers int      // 0: no minimum
	Checks     []ScopeCheck
	Tasks      []ScopeTask
	Source     string // file:line
	// Element is the element of for_each that made it, nil for other scopes.
	Element *Element `json:",omitempty"`
	Environment
}

// Environment is the part of a Scope that only an environment has.
type Environment struct {
	Parent string `json:",omitempty"` // name of another environment, "" for none
	// Domain is the public name, "" for none. It can be below the domain of the parent.
	Domain string `json:",omitempty"`
	// Dynamic means that a user of a hub created the environment. The hub stores its branch.
	Dynamic bool `json:",omitempty"`
}

// ID returns KIND/NAME, for example cluster/search. It is unique in a repository.
func (s Scope) ID() string { return s.Kind + "/" + s.Name }

// Probe is a condition that an agent can test.
type Probe = source.Probe

// ScopeCheck is a condition of a scope, which targets test again and again. Times are in seconds.
type ScopeCheck struct {
	Name string
	Probe
	// From are the names of the targets that test it, sorted, if Outside is set. Otherwise, the leading hub tests it if
	// Hub is set, and the members test it if not.
	From    []string
	Outside bool
	Hub     bool `json:",omitempty"`
	// Quorum is the number of targets that must succeed: all, a number, or a percentage such as "80%".
	Quorum    string
	Every     int64 // interval between two tests
	Timeout   int64 // of one test
	FailAfter int64 // a condition that held fails after this time without success
	// Digest identifies the condition.
	Digest string
	Source string // file:line
	// Branches means that environments that users of hubs create from this environment have the check, too.
	Branches bool `json:",omitempty"`
}

// ScopeTask is work that a scope does once for each content of the task.
type ScopeTask = source.ScopeTask
