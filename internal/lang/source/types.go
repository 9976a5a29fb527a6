package source

import (
	"io/fs"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/exported"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/lang/syntax"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/secret"
)

// Options are the inputs for reading a repository.
type Options struct {
	// Kinds are the kinds written in Go.
	Kinds []kind.Kind
	// Stdlib has *.hcl files with define blocks that are visible everywhere. nil: none.
	Stdlib fs.FS
	// Beside is another revision of the repository. A file that is identical in both is not parsed
	// again. nil: none.
	Beside *Program
}

// Watched is an optional ability of a tree. It receives each place before the place is read or
// evaluated. The monitor of a compilation that never ends can then report its place. The calls do
// not affect the result.
type Watched interface {
	Working(diag.Range)
}

// Program is a repository that has been read. It caches parsed files, so that several targets cost
// little more than one. It is not safe for concurrent use.
type Program struct {
	Tree     repo.Tree
	kinds    map[string]*kind.Kind
	library  library
	Root     *Body
	Targets  []*Target
	more     moreTargets
	Roles    map[string]*Level
	Groups   []*Group // in the order of declaration
	Commands map[string]*Command
	Deliveries
	Top          Level
	modules      map[string]parsed // by directory
	Declarations *declarations     // nil until the first use

	Working   func(diag.Range)
	Sources   map[string][]byte
	templates templateFiles
	contexts  map[*Directory]*hcl.EvalContext
	Pure      *hcl.EvalContext
	Record    record
	beside    *Program
	bodies    map[string]*hclsyntax.Body               // of the files in HCL
	named     map[hclsyntax.Expression][]hcl.Traversal // the references in expressions
	Secrets   secrets
	given     given
	Loops     *syntax.Loops // shared with beside, whose bodies are reused
}

// moreTargets are the sources of targets other than plain target blocks.
type moreTargets struct {
	enrolled map[string]*enrolled
	// generates is set if a target block has a for_each, which can have no element.
	generates bool
	// files is the directory for a for_each of a target or module; nil until the first use.
	files *Directory
}

// parsed is a module as it was read, with its errors.
type parsed struct {
	body *Body
	ds   diag.List
}

// library has the built-in kinds that are written in the language. A file is parsed at the first
// use of one of its kinds.
type library struct {
	directory *Directory
	file      map[string]string    // by kind: the file that defines it
	defines   map[string]*Define   // of the files that are parsed
	parsed    map[string]diag.List // by file: its errors
}

// read is a path that a directory requested from the tree. The result of a module depends on the
// tree only through its reads. Reads do not include data files and the configuration files of the
// top level: their content is compared as declarations and as values.
type read struct{ Directory, Path string }

// record has the files that took part in the current target, and all reads.
type record struct {
	used       map[string]bool
	paths      map[string]map[string]bool // read from the tree, by directory
	Order      []read
	onlyLevels map[string]bool // files of the top that declare only levels
}

// templateFiles has the parsed template files, and how deep the current one is nested.
type templateFiles struct {
	parsed map[string]hclsyntax.Expression
	depth  int
}

// given has the exported values of the tree, read once. known reports whether the file with the
// values exists.
type given struct {
	done, Known bool
	tables      []exported.Table
	Errors      diag.List
}

// Secrets is an optional ability of a tree: decrypting the secrets of the repository. With a tree
// that lacks it, every secret is a placeholder.
type Secrets interface {
	// Secret returns the content of a secret. Its error is shown after the name. An error whose
	// chain contains ErrPlaceholder requests a placeholder.
	Secret(name string) (kind.Secret, error)
}

// secrets has the secrets that a program used, so that no message shows them.
type secrets struct {
	source Secrets
	test   bool              // nothing is decrypted
	given  map[string]string // by a test
	known  map[string]kind.Secret
	masker *secret.Masker
	closed map[string]bool // names with only a placeholder
}

// declarations has the declarations of all modules that a repository names.
type declarations struct {
	Vars    map[string]bool
	Missing map[string]bool // directories that do not exist in this tree
}

// Directory is the directory of a module in a tree. Paths are relative to it and do not leave it.
type Directory struct {
	tree repo.Tree
	Path string // "." for the top
	prog *Program
	// builtin marks the directory of the standard library. Its files are not part of the
	// repository.
	builtin bool
	// Unseen marks reads that are not an input of a module: see record.
	Unseen  bool
	Lookups map[string]*CachedLookup // lookups that the module declares
	// visible is the view of the values that hubs and all targets read. It is a value of itself for that view.
	visible *Directory
}

// parser turns blocks into a body.
type parser struct {
	syntax.Reports
	prog *Program
	body *Body
	top  bool
	in   *Define // the define that the body belongs to
	// targets are the target blocks, by label.
	targets map[string]*Target
	// values are each and environment in a block of a scope, nil in other blocks.
	values map[string]cty.Value
}

// Limits of scopes.
const (
	MaxScopes     = 500
	MaxScopeKinds = 50
	MaxParts      = 20 // checks, and tasks, of one scope
)

// Built-in kinds of scopes.
const (
	ClusterKind     = "cluster"
	EnvironmentKind = "environment"
	UniverseKind    = "universe"
)

// The executors of the tasks of a scope. The first is the default.
const (
	MemberExecutor = "member"
	HubExecutor    = "hub"
)

// Executors are the values of executor.
func Executors() []string { return []string{MemberExecutor, HubExecutor} }

// executor returns the executor of the scopes of a kind. All kinds must have been read.
func (p *Program) executor(kind string) string {
	for _, k := range p.ScopeKinds {
		if k.Name == kind {
			return k.Executor
		}
	}
	if kind == UniverseKind {
		return HubExecutor
	}
	return MemberExecutor
}

// ScopeKind is a scope_kind block.
type ScopeKind struct {
	Name, Description string
	Range             diag.Range
	Disabled, Overlap bool
	Empty             string
	Executor          string // one of Executors
}

// Scope is a scope or cluster block: a set of targets or of scopes with checks and tasks.
type Scope struct {
	Kind, Name, Description string
	Range                   diag.Range
	Members                 *Selector // nil: the members are Scopes, or hubs do the tasks and there are no members
	Scopes                  []ScopeMember
	MinMembers              int
	Checks                  []ScopeCheck
	Tasks                   []ScopeTask
	// Environment is set for an environment block.
	Environment *Environment
	afters      map[string]diag.Range // of references in after, by task and reference
	block       *hclsyntax.Block
	Each        *Element // of the block that made it, nil without for_each
}

// Environment is the part of a Scope that only an environment has: a level of variables, and its place among the
// environments.
type Environment struct {
	Level
	Parent string // name of another environment, "" for none
	// Domain is its public name, "" for none. It can be below the domain of the parent.
	Domain string
	// Dynamic means that a user of a hub created it. The enrolled blocks of its members name it.
	Dynamic bool
	// Errors are the errors of a dynamic environment, which concern only its members.
	Errors diag.List
	// Checks are the checks that a dynamic environment has from its parent.
	Checks []ScopeCheck
	// Chain are the environment and its parents, the outermost first.
	Chain   []*Environment
	members *Selector
	rng     diag.Range // of the attribute parent
}

// ID returns KIND/NAME.
func (s Scope) ID() string { return s.Kind + "/" + s.Name }

// environmentIndex finds the environments that select a target. Comparing each environment with each target takes
// seconds for some hundred environments and 10,000 targets.
type environmentIndex struct {
	built   bool
	byLabel map[string]map[string][]int // by label and value: places of environments
	rest    []int                       // environments without such a label
}

// enrolled is an enrolled block: a target that joined a fleet, with its labels.
type enrolled struct {
	name   string
	rng    diag.Range
	Labels *hclsyntax.Attribute
	waits  *hclsyntax.Attribute // modules that must wait
	// Environment is the environment that a user of a hub created for it, nil for none. Targets of one program share it.
	Environment *Environment
	// TestsFor are environments of other targets that users of a hub created, and whose checks the target can test. They
	// have no variables.
	TestsFor []*Environment
	Declared bool // by a target block, too
}

// ScopeMember is a scope that is a member of another one.
type ScopeMember struct {
	ID    string // KIND/NAME
	Range diag.Range
}

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
	Name   string
	Range  diag.Range
	Probe  Probe
	From   *Selector // the targets that test it; nil: the members
	Quorum string    // of the targets: all, a number, or a percentage

	Every, Timeout, FailAfter int64
	Digest                    string
	// Branches means that environments that users of hubs create from this environment have the check, too.
	Branches bool
}

// ScopeTask is work that a scope does once for each content of the task. Times are in seconds.
type ScopeTask struct {
	Name    string
	Command []string
	Input   string // standard input of the command
	// Secrets are the secrets of the repository that a hub gives to the command: their names, by environment variable.
	Secrets map[string]string `json:",omitempty"`
	// Verify is a condition that holds exactly if the task is done; nil: none.
	Verify *Probe
	// After are the conditions for the begin: check.NAME and task.NAME of the same scope, sorted.
	After      []string
	Retries    int   // attempts after the first one
	RetryAfter int64 // pause between two attempts
	Timeout    int64 // of one attempt
	// OnUnknown is the effect if the target was lost during the attempt: verify, ask, or retry.
	OnUnknown string
	// Digest identifies the content: command, input, triggers, verification, and names of secrets. A task with another
	// digest is done again.
	Digest string
	// Undo undoes the task after it was removed from the repository; nil: nothing does. It has no After and no Undo.
	Undo  *ScopeTask `json:",omitempty"`
	Range diag.Range `json:"-"`
}
