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

// Colored reports whether output is coloured on a stream that is a terminal or not.
func (s *Printer) Colored(terminal bool) bool {
	return terminal && !s.noColor && s.App.Env("NO_COLOR") == "" && s.App.Env("TERM") != "dumb"
}

// Style is the style of standard output.
func (s *Printer) Style() render.Style {
	return render.Style{Color: s.Colored(s.App.Terminal.Out), Width: s.widthOf(s.App.Terminal.Out)}
}

// ErrStyle is the style of standard error.
func (s *Printer) ErrStyle() render.Style {
	return render.Style{Color: s.Colored(s.App.Terminal.Err), Width: s.widthOf(s.App.Terminal.Err)}
}

func (s *Printer) widthOf(terminal bool) int {
	if !terminal {
		return 0
	}
	return s.App.Terminal.Width
}

// Printf writes text to stdout, except with --json.
func (s *Printer) Printf(format string, args ...any) {
	if !s.JSON {
		fmt.Fprintf(s.App.Stdout, format, args...)
	}
}

// Document prints the one JSON document of a command.
func (s *Printer) Document(doc any) error {
	s.Documented = true
	if err := printJSON(s.App.Stdout, doc, "  "); err != nil {
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

// WithExecutor opens the engine, calls fn and closes the engine. Where there is
// no state directory yet none is made: looking leaves nothing behind.
func WithExecutor(ctx context.Context, s *Session, fn func(executor.Executor) error) error {
	m, err := s.Machine()
	if err != nil {
		return err
	}
	m.ReadOnly = !FileExists(m.State)
	return s.onTarget(ctx, m, fn)
}

// WithState is withExecutor for commands that record something: it creates the state directory.
func WithState(ctx context.Context, s *Session, fn func(executor.Executor) error) error {
	m, err := s.Machine()
	if err != nil {
		return err
	}
	return s.onTarget(ctx, m, fn)
}

// onTarget is open for the machine that -t and --ssh name, which may be another one.
func (s *Session) onTarget(ctx context.Context, m Machine, fn func(executor.Executor) error) error {
	r, err := s.Connected(ctx, s.Target)
	switch {
	case err != nil:
		return err
	case r.Here:
		return open(ctx, s, m, fn)
	}
	return fn(s.patient(r.remote))
}

// DecideAndDo opens the engine for deciding, which can refuse, and then does
// what was decided. A refusal leaves nothing behind, not even an empty state
// directory.
func (s *Session) DecideAndDo(ctx context.Context, decide, do func(executor.Executor) error) error {
	m, err := s.Machine()
	if err != nil {
		return err
	}
	both := func(x executor.Executor) error {
		if err := decide(x); err != nil {
			return err
		}
		return do(x)
	}
	r, err := s.Connected(ctx, s.Target)
	if err != nil {
		return err
	}
	if !r.Here {
		return both(s.patient(r.remote))
	}
	if FileExists(m.State) {
		return open(ctx, s, m, both)
	}
	looking := m
	looking.ReadOnly = true
	if err := open(ctx, s, looking, decide); err != nil {
		return err
	}
	return open(ctx, s, m, do)
}

func open(ctx context.Context, s *Session, m Machine, fn func(executor.Executor) error) (err error) {
	x, done, err := s.App.OpenExecutor(ctx, m)
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
func (s *Session) patient(x executor.Executor) executor.Executor {
	return executor.Patient(x, executor.Patience{For: s.lockWait, OnFirstRefusal: func(err error) {
		fmt.Fprintf(s.App.Stderr, "Waiting up to %s: %v\n", s.lockWait, err)
	}})
}

// variables reads the --var flags. The last of a name wins.
func (f *repositoryFlags) variables() (map[string]string, error) {
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

// Printer writes the output of one command: text for users, or JSON documents.
type Printer struct {
	App           *App
	JSON, noColor bool
	Verbose       bool
	Documented    bool // a JSON document has been printed
}

// SleepUntil waits until t on the clock of the app. It returns the error of ctx if ctx ends first.
func SleepUntil(ctx context.Context, s *Printer, t time.Time) error {
	timer := time.NewTimer(t.Sub(s.App.Now()))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
