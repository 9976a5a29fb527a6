package source

import (
	"encoding/json"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/window"
)

// Body is the content of a module or a defined kind.
type Body struct {
	Directory *Directory
	Files     []string
	Vars      map[string]*Variable
	Locals    map[string]*hclsyntax.Attribute
	Facts     map[string]*Fact
	Defines   map[string]*Define
	Outputs   map[string]*Output
	Actions   map[string]*Action
	Needs     []*need // of a module
	// Version is the version of a module, "" if it has none. VersionRange is its place.
	Version      string
	VersionRange diag.Range
	// Lock has the names of the locks that all states of a module need; nil: none.
	Lock *hclsyntax.Attribute
	// exported has the module's declared inputs from other targets.
	Exported map[string]*Exported
	Decls    []*Declaration // in the order of declaration
}

// Variable is a variable block, or a parameter of an action or a command.
type Variable struct {
	Name        string
	Range       diag.Range
	Type        cty.Type
	Defaults    *typeexpr.Defaults
	Default     hclsyntax.Expression // nil: must be given
	Description string
	Merge       string // how its values merge where a level does not set it
	File        bool   // it names a file of the module that uses the kind
	Secret      bool   // of a parameter: its value is never shown
	Validations []Validation
}

// Validation is a condition for a variable, with the message for a value that does not fulfill it.
type Validation struct {
	Condition, Message hclsyntax.Expression
}

// Fact is a fact block: a property of the target that a body uses.
type Fact struct {
	Name    string
	Range   diag.Range
	Type    cty.Type
	Default hclsyntax.Expression
}

// Define is a kind written in the language.
type Define struct {
	name   string
	Range  diag.Range
	Body   *Body
	main   string
	doc    string
	Stdlib bool
	kind   *kind.Kind // its schema, for look-ups of attributes
}

// Declaration is one state block, or a block of them.
type Declaration struct {
	Kind       string
	Label      string
	Range      diag.Range // of the header
	KindRange  diag.Range // of the name of the kind
	Labels     []diag.Range
	Attributes map[string]*hclsyntax.Attribute
	Blocks     []*hclsyntax.Block // blocks inside a state, which are errors
	Group      bool
	Members    []*Declaration
	Names      []string // the attributes in the order of the text
}

// Action is a declared action.
type Action struct {
	Name, Doc  string
	Range      diag.Range
	Params     *Body
	Attributes map[string]*hclsyntax.Attribute
	Changes    bool
	JSON       bool
}

// Command is a declared command.
type Command struct {
	Name, Doc string
	Range     diag.Range
	Params    *Body
	Targets   *hclsyntax.Attribute
	Parts     []*Part
}

// Part is one part of a command: an action or a program, on some targets.
type Part struct {
	Name, Action string
	Range        diag.Range
	Attributes   map[string]*hclsyntax.Attribute
}

// Exported is a declared input of a module: the values that other targets export under one output
// of a module.
type Exported struct {
	Name   string
	Module string // the directory of the module with the output
	Output string
	// Targets are patterns of names; none selects all. Labels are the required labels, each with
	// its allowed values; * allows any value. Same are labels whose values must equal the labels of
	// the target that receives the values.
	Targets []string
	Labels  map[string][]string
	Same    []string
	AtLeast int // number of values that must be known before the whole input is known
	// Type is the type of the output in the form of package exported, nil if it is unknown.
	Type  json.RawMessage
	Range diag.Range
}

// Output is a value that a defined kind or a module provides to its users: site["example.org"].url,
// module.db.address.
type Output struct {
	Range       diag.Range
	Value       hclsyntax.Expression
	description string
	// exported is set if other targets can use the output. typ is its type, NilType if the
	// declaration omits it.
	Exported bool
	Type     cty.Type
}

// Given is a level that names a module.
type Given struct {
	By    string // "role web", "target group prod", "target"
	Range diag.Range
}

// need is a needs block.
type need struct {
	Name, Level string
	Range       diag.Range
	// Version is a constraint on the version of the module, "" for none. VersionRange is its place.
	Version      string
	VersionRange diag.Range
}

// Lookup is a declared query to a source outside of the repository. Its answer is stored in a
// snapshot in the repository. This package reads only the snapshot.
type Lookup struct {
	Name string
	// Directory is the directory of the module that declares the lookup, "." for the top.
	Directory string
	URL       string        // the URL to query, or
	Command   []string      // the command to run
	Format    string        // json, yaml or text
	MaxAge    time.Duration // after which a snapshot should be refreshed; 0: never
	Timeout   time.Duration // time limit of the query; 0 is the default
	Range     diag.Range
}

// CachedLookup is a Lookup with its cached value.
type CachedLookup struct {
	Lookup
	Done   bool
	Value  cty.Value
	Errors diag.List
}

// Level is a role, a target group or a target: a source of modules and variables for a target. The
// top of the repository is also a level, without modules.
type Level struct {
	Kind, Name            string
	Range                 diag.Range
	Roles, Modules, Layer *hclsyntax.Attribute
	Vars, Data, Merge     *hclsyntax.Attribute
	Waits                 *hclsyntax.Attribute // of an enrolled target
	Uses                  []*ModuleUse
	Policy, SSH           *hclsyntax.Block
	Given                 map[string]cty.Value // the variables of a dynamic environment, nil for other levels
	// Each is the element of the for_each of the block that made the target, nil without for_each.
	Each *Element
	// instances are the modules of blocks with for_each, at their first use.
	instances map[*ModuleUse]instances
}

// Group is a target_group: a level of the targets that it selects, by name, by
// label or by both.
type Group struct {
	Level
	Selector
}

// Selector selects targets by name, by label or by both.
type Selector struct {
	Names  []func(name string) bool // nil: any
	Labels map[string][]string      // any of the values; nil: any
	// Patterns are the texts of Names.
	Patterns []string
}

// Deliveries describe when a hub gives changes and slots to targets. The lists are in the order of declaration.
type Deliveries struct {
	Strategies    []*Strategy
	Windows       []*Window
	Locks         []*Lock
	Barriers      []*Barrier
	Signals       []*Signal
	Organizations []*Organization // with limits
	ScopeKinds    []*ScopeKind
	Scopes        []*Scope
	// Environments are the environments among the scopes. Dynamic ones are separate, in the order of their names.
	Environments []*Environment
	Dynamic      []*Environment
	scopeBlocks  []*hclsyntax.Block // of scopes and their kinds
	selecting    environmentIndex
}

// Organization is an organization block: limits for changes of its targets.
type Organization struct {
	Name           string // a path such as acme/search
	Freeze         string // the reason of a freeze, or ""
	MaxUnavailable string // of the targets at the same time, as package amount writes it; "": no limit
	Approvals      int    // the number of users who must approve each rollout
	Range          diag.Range
}

// Barrier is a barrier block: targets wait until enough members have arrived.
type Barrier struct {
	Name         string
	Range        diag.Range
	Members      Selector
	Quorum       string // all, or a number or percentage as package amount writes it
	OfflineAfter int64  // seconds; 0: members that are offline always count
	AlarmAfter   int64  // seconds for which a member waits before an alarm is raised; 0: no alarm
}

// Signal is a signal block: a named message that states wait for.
type Signal struct {
	Name    string
	Range   diag.Range
	Senders *Selector // the targets that can send; nil: none
	Keep    int64     // seconds
}

// Lock is a lock block: an object of the hubs with slots for targets.
type Lock struct {
	Name       string
	Slots      int
	Lease      int64  // seconds
	OnExpiry   string // keep or free
	Reboots    bool   // targets need a slot for a reboot
	Wait       int64  // seconds for which a run waits for a slot; 0 is the default
	AlarmAfter int64  // seconds for which a target waits before an alarm is raised; 0: no alarm
	Range      diag.Range
}

// Window is a window block: a recurring time in which hubs may change targets, or must not.
type Window struct {
	window.Window
	Range diag.Range
}

// Strategy is a rollout block: how a change reaches its targets in waves.
type Strategy struct {
	Name  string
	Range diag.Range
	Waves []*Wave // in the order of declaration; at least one
	// Amounts and Times have a value for each attribute with an amount or a duration.
	Amounts  map[string]string
	Times    map[string]int64 // seconds
	OnBreach string
	Afters   []*After // in the order of declaration
	Spread   Spread
	Rate     int // grants in a minute; 0: no limit
}

// Spread is the attribute spread of a Strategy. The zero value means that there is no limit.
type Spread struct {
	Label string
	Max   int
}

// After is an after block of a Strategy: targets with the strategy get changes of Modules only while Module is ready on
// other targets.
type After struct {
	Module   string
	Modules  []string // at least one
	Selector Selector // the targets on which Module must be ready
	Ready    string   // how many of them, as package amount writes it
	Range    diag.Range
}

// Wave is one wave of a Strategy.
type Wave struct {
	Name           string
	Range          diag.Range
	Selector       *Selector // nil: all targets
	Size           string    // "": all remaining targets
	MaxUnavailable string
	Bake           int64 // seconds
	Gates          []Gate
}

// Gate is a condition for the end of a wave: an approval, compare, metric or webhook block. All times are in seconds.
type Gate struct {
	Name   string
	Type   string // of the block
	DryRun bool
	// Timeout is the time after which the rollout pauses if the gate has not passed; 0 means that it is not set.
	Timeout int64
	// Need, Users, Groups, NotAuthor and Expires belong to an approval.
	Need      int
	Users     []string // nil, like Groups: all users with the right
	Groups    []string
	NotAuthor bool
	Expires   int64
	// URL, Query, Min and Max describe a measurement; nil means no limit. Sign names the secret of a webhook, and Token
	// the token for a query.
	URL, Query, Sign, Token string
	Min, Max                *float64
	// Label, Worse, MinSample, MaxRatio and Margin belong to a comparison. Worse is higher or lower.
	Label, Worse                    string
	MinSample                       int
	MaxRatio, Margin                *float64
	InitialDelay, Interval          int64
	Count, FailureLimit, ErrorLimit int
}

// Target is a target block.
type Target struct {
	Level
	Labels   *hclsyntax.Attribute
	Enrolled *enrolled // nil if it is not enrolled
	Placed   Placed
	// generator is set between parsing and Load's end, for a block with for_each.
	generator *generatorOf
}

// Placed caches the evaluated labels and levels if they have no errors.
type Placed struct {
	Labels      map[string]string
	Levels      []*Level
	Environment *Environment // valid if Levels is set
}

// ModuleUse is one module of a target.
type ModuleUse struct {
	Name      string
	Range     diag.Range
	Directory string
	Vars      map[string]ModuleVars // of the module blocks, by level
	From      []Given
	// Each is the element of the block that made it, nil without for_each. Name is then BLOCK["KEY"].
	Each *Element
	// generator is set for a block with for_each, until its elements are known.
	generator *generatorOf
}

// ModuleVars are the variables of a module block, with the element that its expressions use.
type ModuleVars struct {
	*hclsyntax.Attribute
	Each *Element
}

// instances are the modules of a block with for_each.
type instances struct {
	uses  []*ModuleUse
	ds    diag.List
	files []string // that for_each read
}

// Element is one element of a for_each, as it is known before any target is.
type Element struct {
	Block string // name of the block
	Key   string
	Value cty.Value
	Range diag.Range // of for_each
	files []string   // of the repository that for_each read
	ctx   *hcl.EvalContext
}

// generatorOf is the for_each of a target or module block.
type generatorOf struct {
	each, name *hclsyntax.Attribute
	atLeast    int // elements without an error
}
