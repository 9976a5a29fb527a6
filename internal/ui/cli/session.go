package cli

import (
	"bufio"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/repo"
)

// Session is one command line: the global flags and the objects that they select.
type Session struct {
	*Printer
	repositoryFlags
	hostFlags
	targetFlags
	policyFlags
	links
	typedLine

	cache  host.FS // that is open for several; nil: each use opens it
	warned int     // warnings so far, shown or not
	lines  *bufio.Reader
	// reading is the line that a question awaited when it ended; nil: none.
	reading chan typedText
}

// typedText is a line of the user. err is the end of the input.
type typedText struct {
	line string
	err  error
}

// repositoryFlags select the repository, and limit how it is read.
type repositoryFlags struct {
	Dir, Rev       string
	vars           []string
	compileTimeout time.Duration
	compileMemory  int64 // bytes
	maxFiles       int
	maxFileSize    int64 // bytes
}

// hostFlags select the host on which a command works, and its state directory.
type hostFlags struct {
	Root, State string
	rootNamed   bool // --root is on the command line
	identity    string
	lockWait    time.Duration
}

// targetFlags are the targets of -t.
type targetFlags struct {
	Target string   // the only target, or the chosen target
	Words  []string // as they were typed
}

// policyFlags override what protects hosts and their applied state.
type policyFlags struct {
	IgnoreFreeze  bool
	WithoutLocks  bool
	OverrideAgent bool
	Adopt         bool
}

// links are the connections to other hosts and to a hub.
type links struct {
	ConnectOpts connectFlags
	Remote      Remote // the host that is worked on, once it is reached; nil: this one
	At          way
	sudo        *sudoAnswer
	HubAccess   HubAccess
}

// typedLine is the command line as it was typed.
type typedLine struct {
	args    []string
	secret  map[string]bool // parameters whose values are secrets; never changed
	Command string          // for the history: args without secrets
}

func (s *Session) flags(c *cobra.Command) {
	f := c.PersistentFlags()
	f.StringVarP(&s.Dir, "chdir", "C", ".", "use the repository in `DIR`")
	f.StringVar(&s.Rev, "rev", "", "use this `REV`: a branch, tag or commit (default: the files as they are)")
	f.StringArrayVarP(&s.Words, "target", "t", nil,
		"work for this `TARGET` (default: the name of this host if it is declared, otherwise the only target); many commands accept a selection, see fettle docs targets")
	f.StringVar(&s.Root, "root", "/", "work on the host whose / is this `DIR`")
	f.StringVar(&s.State, "state", "", "store the journal and its objects in this `DIR` (default: ROOT/var/lib/fettle)")
	f.StringVar(&s.identity, "identity", "", "decrypt secrets with the private key in this `FILE` (also: FETTLE_IDENTITY)")
	f.BoolVar(&s.JSON, "json", false, "print one JSON document; see docs/json.md")
	f.BoolVar(&s.noColor, "no-color", false, "no colours (also: NO_COLOR)")
	f.BoolVarP(&s.Verbose, "verbose", "v", false, "show more: sources, whole diffs, every line")
	SpanVar(f, &s.compileTimeout, "compile-timeout", 30*time.Second,
		"stop compiling a repository after this `DURATION`; stop git after the same time without output")
	sizeVar(f, &s.compileMemory, "compile-memory", 2<<30, 256<<20, 1<<40,
		"stop compiling a repository if it uses more memory than this `SIZE`")
	NumberVar(f, &s.maxFiles, "max-files", repo.DefaultFiles, 1,
		"refuse a repository with more than this `NUMBER` of files")
	sizeVar(f, &s.maxFileSize, "max-file-size", repo.DefaultFileSize, 1, 1<<40,
		"refuse a repository with a file above this `SIZE`")
	s.ConnectOpts.flags(f)
	DurationVar(f, &s.lockWait, "lock-wait", 0, "wait up to this `DURATION` if another fettle works on the host")
	f.StringArrayVar(&s.vars, "var", nil, "set a variable with `NAME=VALUE`; may be repeated")
}

// Machine is where commands work, with absolute directories.
func (s *Session) Machine() (Machine, error) {
	root, err := filepath.Abs(s.Root)
	if err != nil {
		return Machine{}, fmt.Errorf("cannot find --root %q: %w", s.Root, err)
	}
	state := s.State
	if state == "" {
		state = filepath.Join(root, "var/lib/fettle")
	}
	state, err = filepath.Abs(state)
	if err != nil {
		return Machine{}, fmt.Errorf("cannot find --state %q: %w", s.State, err)
	}
	return Machine{Root: root, State: state, Identities: s.Identities, Identity: s.NamedIdentity()}, nil
}

// Variables reads the --var flags. The last of a name wins.
func (f *repositoryFlags) Variables() (map[string]string, error) {
	out := map[string]string{}
	for _, v := range f.vars {
		name, value, ok := strings.Cut(v, "=")
		if !ok || name == "" {
			return nil, Refuse("Write it as --var NAME=VALUE", fmt.Sprintf("cannot read --var %q: it has no name and value", v))
		}
		out[name] = value
	}
	return out, nil
}

// GivenVariables returns the variables of the command line, "NAME=VALUE", sorted.
func (s *Session) GivenVariables() []string { return slices.Sorted(slices.Values(s.vars)) }

// IsMany tells whether the command line names a selection of targets.
func (f *targetFlags) IsMany() bool { return len(f.Words) > 0 && f.Target == "" }
