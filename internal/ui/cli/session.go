package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/ui/render"
)

// session is one command line: the global flags and the objects that they select.
type session struct {
	*printer
	repositoryFlags
	hostFlags
	targetFlags
	policyFlags
	links
	typedLine

	cache  host.FS // that is open for several; nil: each use opens it
	warned int     // warnings so far, shown or not
	lines  *bufio.Reader
}

// repositoryFlags select the repository, and limit how it is read.
type repositoryFlags struct {
	dir, rev       string
	vars           []string
	compileTimeout time.Duration
	compileMemory  int64 // bytes
	maxFiles       int
	maxFileSize    int64 // bytes
}

// hostFlags select the host on which a command works, and its state directory.
type hostFlags struct {
	root, state string
	rootNamed   bool // --root is on the command line
	identity    string
	lockWait    time.Duration
}

// targetFlags are the targets of -t.
type targetFlags struct {
	target string   // the only target, or the chosen target
	words  []string // as they were typed
}

// policyFlags override what protects hosts and their applied state.
type policyFlags struct {
	ignoreFreeze  bool
	overrideAgent bool
	adopt         bool
}

// links are the connections to other hosts and to a hub.
type links struct {
	connectOpts connectFlags
	remote      Remote // the host that is worked on, once it is reached; nil: this one
	at          way
	sudo        *sudoAnswer
	fleet       *hubAnswer
}

// typedLine is the command line as it was typed.
type typedLine struct {
	args    []string
	secret  map[string]bool // parameters whose values are secrets; never changed
	command string          // for the history: args without secrets
}

func (s *session) flags(c *cobra.Command) {
	f := c.PersistentFlags()
	f.StringVarP(&s.dir, "chdir", "C", ".", "use the repository in `DIR`")
	f.StringVar(&s.rev, "rev", "", "use this `REV`: a branch, tag or commit (default: the files as they are)")
	f.StringArrayVarP(&s.words, "target", "t", nil,
		"work for this `TARGET` (default: the name of this host if it is declared, otherwise the only target); many commands accept a selection, see fettle docs targets")
	f.StringVar(&s.root, "root", "/", "work on the host whose / is this `DIR`")
	f.StringVar(&s.state, "state", "", "store the journal and its objects in this `DIR` (default: ROOT/var/lib/fettle)")
	f.StringVar(&s.identity, "identity", "", "decrypt secrets with the private key in this `FILE` (also: FETTLE_IDENTITY)")
	f.BoolVar(&s.json, "json", false, "print one JSON document; see docs/json.md")
	f.BoolVar(&s.noColor, "no-color", false, "no colours (also: NO_COLOR)")
	f.BoolVarP(&s.verbose, "verbose", "v", false, "show more: sources, whole diffs, every line")
	spanVar(f, &s.compileTimeout, "compile-timeout", 30*time.Second,
		"stop compiling a repository after this `DURATION`; stop git after the same time without output")
	sizeVar(f, &s.compileMemory, "compile-memory", 2<<30, 256<<20, 1<<40,
		"stop compiling a repository if it uses more memory than this `SIZE`")
	numberVar(f, &s.maxFiles, "max-files", repo.DefaultFiles, 1,
		"refuse a repository with more than this `NUMBER` of files")
	sizeVar(f, &s.maxFileSize, "max-file-size", repo.DefaultFileSize, 1, 1<<40,
		"refuse a repository with a file above this `SIZE`")
	s.connectOpts.flags(f)
	durationVar(f, &s.lockWait, "lock-wait", 0, "wait up to this `DURATION` if another fettle works on the host")
	f.StringArrayVar(&s.vars, "var", nil, "set a variable with `NAME=VALUE`; may be repeated")
}

func (s *printer) colored(terminal bool) bool {
	return terminal && !s.noColor && s.app.Env("NO_COLOR") == "" && s.app.Env("TERM") != "dumb"
}

func (s *printer) style() render.Style {
	return render.Style{Color: s.colored(s.app.Terminal.Out), Width: s.widthOf(s.app.Terminal.Out)}
}

func (s *printer) errStyle() render.Style {
	return render.Style{Color: s.colored(s.app.Terminal.Err), Width: s.widthOf(s.app.Terminal.Err)}
}

func (s *printer) widthOf(terminal bool) int {
	if !terminal {
		return 0
	}
	return s.app.Terminal.Width
}

// printf writes text to stdout, except with --json.
func (s *printer) printf(format string, args ...any) {
	if !s.json {
		fmt.Fprintf(s.app.Stdout, format, args...)
	}
}

// document prints the one JSON document of a command.
func (s *printer) document(doc any) error {
	s.documented = true
	if err := printJSON(s.app.Stdout, doc, "  "); err != nil {
		return fmt.Errorf("cannot print the JSON document: %w", err)
	}
	return nil
}

// printJSON writes a document in which different names of files are different strings, even if they
// are not UTF-8: see journal.Marshal.
func printJSON(w io.Writer, doc any, indent string) error {
	text, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	return enc.Encode(journal.Readable(doc, text))
}

// machine is where commands work, with absolute directories.
func (s *session) machine() (Machine, error) {
	root, err := filepath.Abs(s.root)
	if err != nil {
		return Machine{}, fmt.Errorf("cannot find --root %q: %w", s.root, err)
	}
	state := s.state
	if state == "" {
		state = filepath.Join(root, "var/lib/fettle")
	}
	state, err = filepath.Abs(state)
	if err != nil {
		return Machine{}, fmt.Errorf("cannot find --state %q: %w", s.state, err)
	}
	return Machine{Root: root, State: state, Identities: s.identities, Identity: s.namedIdentity()}, nil
}

// withExecutor opens the engine, calls fn and closes the engine. Where there is
// no state directory yet none is made: looking leaves nothing behind.
func withExecutor(ctx context.Context, s *session, fn func(executor.Executor) error) error {
	m, err := s.machine()
	if err != nil {
		return err
	}
	m.ReadOnly = !fileExists(m.State)
	return s.onTarget(ctx, m, fn)
}

// withState is withExecutor for commands that record something: it creates the state directory.
func withState(ctx context.Context, s *session, fn func(executor.Executor) error) error {
	m, err := s.machine()
	if err != nil {
		return err
	}
	return s.onTarget(ctx, m, fn)
}

// onTarget is open for the machine that -t and --ssh name, which may be another one.
func (s *session) onTarget(ctx context.Context, m Machine, fn func(executor.Executor) error) error {
	r, err := s.connected(ctx, s.target)
	switch {
	case err != nil:
		return err
	case r.here:
		return open(ctx, s, m, fn)
	}
	return fn(s.patient(r.remote))
}

// decideAndDo opens the engine for deciding, which can refuse, and then does
// what was decided. A refusal leaves nothing behind, not even an empty state
// directory.
func (s *session) decideAndDo(ctx context.Context, decide, do func(executor.Executor) error) error {
	m, err := s.machine()
	if err != nil {
		return err
	}
	both := func(x executor.Executor) error {
		if err := decide(x); err != nil {
			return err
		}
		return do(x)
	}
	r, err := s.connected(ctx, s.target)
	if err != nil {
		return err
	}
	if !r.here {
		return both(s.patient(r.remote))
	}
	if fileExists(m.State) {
		return open(ctx, s, m, both)
	}
	looking := m
	looking.ReadOnly = true
	if err := open(ctx, s, looking, decide); err != nil {
		return err
	}
	return open(ctx, s, m, do)
}

func open(ctx context.Context, s *session, m Machine, fn func(executor.Executor) error) (err error) {
	x, done, err := s.app.OpenExecutor(ctx, m)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := done(); err == nil {
			err = cerr
		}
	}()
	return fn(s.patient(x))
}

// patient waits for the lock, if the command line requests it.
func (s *session) patient(x executor.Executor) executor.Executor {
	return executor.Patient(x, executor.Patience{For: s.lockWait, OnFirstRefusal: func(err error) {
		fmt.Fprintf(s.app.Stderr, "Waiting up to %s: %v\n", s.lockWait, err)
	}})
}

// variables reads the --var flags. The last of a name wins.
func (f *repositoryFlags) variables() (map[string]string, error) {
	out := map[string]string{}
	for _, v := range f.vars {
		name, value, ok := strings.Cut(v, "=")
		if !ok || name == "" {
			return nil, refuse("Write it as --var NAME=VALUE", fmt.Sprintf("cannot read --var %q: it has no name and value", v))
		}
		out[name] = value
	}
	return out, nil
}

// printer writes the output of one command: text for users, or JSON documents.
type printer struct {
	app           *App
	json, noColor bool
	verbose       bool
	documented    bool // a JSON document has been printed
}
