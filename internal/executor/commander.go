package executor

import (
	"context"
	"io"
	"time"

	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/secret"
)

// DefaultTimeout is how long a command may take that says nothing of it.
const DefaultTimeout = 5 * time.Minute

// Commander is an executor that runs what is no list. Nothing of it changes what is
// applied, and nothing takes it back; the history keeps it all the same.
type Commander interface {
	// Command runs commands one after the other until one fails. What changes
	// something takes the lock and settles a crashed run first, as Apply does, and is
	// refused on a frozen machine with ErrFrozen. show
	// gets the output as it comes, in order of arrival and by lines where there is
	// something to mask, from one goroutine at a time; it may hold the command up,
	// and nil shows nothing. The result is valid beside an error that says why it was
	// cut short; a command that failed is none. When ctx ends, or at the timeout, the
	// whole process tree ends.
	Command(ctx context.Context, c Command, o Options, show func(Output)) (*CommandResult, error)
	// Commands is the history of them, oldest first.
	Commands(ctx context.Context) ([]journal.Command, error)
}

// Files is an executor that carries single files.
type Files interface {
	// Put makes a file have this content, owner and mode: atomically, and only where
	// it differs. from is opened only if the content does. It is recorded as a
	// command is.
	Put(ctx context.Context, f File, from func() (io.ReadCloser, error), o Options) (*PutResult, error)
	// Get writes the content of a file into to.
	Get(ctx context.Context, path string, to io.Writer) (File, error)
}

// Command is what Commander runs. No shell takes part.
type Command struct {
	// Action is the name of the action that it belongs to, "" for an ad-hoc one.
	Action string     `json:"action,omitempty"`
	Argv   [][]string `json:"argv"`           // one or several
	Env    []string   `json:"env,omitempty"`  // NAME=VALUE; a value may refer to a secret
	Dir    string     `json:"dir,omitempty"`  // "/" when empty
	User   string     `json:"user,omitempty"` // "" means the engine's own
	// Timeout is for all of it; 0 means DefaultTimeout.
	Timeout time.Duration `json:"timeout_ns,omitempty"`
	// Looks says that it changes nothing: it waits for no lock.
	Looks bool `json:"looks,omitempty"`
	// Stdin is what the first command reads; it is recorded nowhere.
	Stdin []byte `json:"stdin,omitempty"`
	// Hide are texts that are shown and recorded nowhere: what was typed as a secret.
	Hide []string `json:"hide,omitempty"`
	// Secrets opens what Env refers to, and what is sealed in Blobs.
	Secrets secret.Bundle     `json:"secrets"`
	Sealed  map[string][]byte `json:"sealed,omitempty"` // by digest
}

// Output is a piece of what a command says.
type Output struct {
	Stderr bool
	Text   []byte // lent
}

// CommandResult is how commands ended. Exit and Signal are those of the last.
type CommandResult struct {
	ID       int           `json:"id"`   // in the history of commands
	Exit     int           `json:"exit"` // -1 when a signal or the timeout ended it
	Signal   string        `json:"signal,omitempty"`
	TimedOut bool          `json:"timed_out,omitempty"`
	Stdout   string        `json:"stdout"` // at most 1 MiB, cut in the middle
	Stderr   string        `json:"stderr"`
	Duration time.Duration `json:"duration_ns"`
}

// OK tells whether all commands succeeded.
func (r *CommandResult) OK() bool { return r.Exit == 0 && !r.TimedOut }

// File is a file on a target.
type File struct {
	Path   string `json:"path"`   // absolute
	Digest string `json:"digest"` // sha256:…
	Size   int64  `json:"size"`
	// Owner, Group and Mode: "" leaves those that are there, and is root, root and
	// 0644 for a new file. Mode is octal.
	Owner string `json:"owner,omitempty"`
	Group string `json:"group,omitempty"`
	Mode  string `json:"mode,omitempty"`
}

// PutResult says what Put had to do.
type PutResult struct {
	ID      int  `json:"id"` // in the history of commands, 0 where nothing was to be done
	Changed bool `json:"changed"`
	Sent    bool `json:"sent"` // the content, and not only owner or mode
}
