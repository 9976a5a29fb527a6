package executor

import (
	"context"
	"io"
	"time"

	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/secret"
)

// DefaultTimeout is the time limit of a command without Timeout.
const DefaultTimeout = 5 * time.Minute

// Commander is an executor that also runs commands outside of a step list. A command
// changes no applied state and cannot be undone; the history records it.
type Commander interface {
	// Command runs commands one after the other until one fails. A command that changes
	// something takes the lock and recovers a crashed run first, as Apply does. On a
	// frozen machine it is refused with ErrFrozen. A command with Locks waits for its slots
	// like a run. It ends with ErrNoSlot if it gets none, and is stopped if its leases end.
	//
	// show receives the output in order of arrival, from one goroutine at a time. If
	// texts must be masked, it receives whole lines. show may block the command; nil
	// shows nothing.
	//
	// The result is valid even with an error, which then gives the reason why the command
	// was cut short. A failed command is not an error. When ctx ends, or at the timeout,
	// the whole process tree is killed.
	Command(ctx context.Context, c Command, o Options, show func(Output)) (*CommandResult, error)
	// Commands returns the history of commands, the oldest first.
	Commands(ctx context.Context) ([]journal.Command, error)
}

// Files is an executor that copies single files.
type Files interface {
	// Put gives a file this content, owner and mode, atomically, if any of them differs. from is
	// opened only if the content differs. The history records it like a command.
	Put(ctx context.Context, f File, from func() (io.ReadCloser, error), o Options) (*PutResult, error)
	// Get writes the content of a file to to.
	Get(ctx context.Context, path string, to io.Writer) (File, error)
}

// Command is one or several programs with their arguments. There is no shell.
type Command struct {
	// Action is the name of its action, "" for a command of an operator.
	Action string     `json:"action,omitempty"`
	Argv   [][]string `json:"argv"`           // one or several
	Env    []string   `json:"env,omitempty"`  // NAME=VALUE; a value may refer to a secret
	Dir    string     `json:"dir,omitempty"`  // "/" when empty
	User   string     `json:"user,omitempty"` // "" is the user of this process
	// Timeout is the limit for all programs together; 0 is DefaultTimeout.
	Timeout time.Duration `json:"timeout_ns,omitempty"`
	// ReadOnly means that it changes nothing. It then needs no lock.
	ReadOnly bool `json:"looks,omitempty"`
	// Locks are the locks whose slots the programs need. The command begins with a slot of each lock.
	Locks []string `json:"locks,omitempty"`
	// Stdin is the input of the first command. It is never recorded.
	Stdin []byte `json:"stdin,omitempty"`
	// Hide are texts that are masked in output and records, such as secrets that the user
	// typed.
	Hide []string `json:"hide,omitempty"`
	// Secrets decrypts the references in Env and the sealed content of Blobs.
	Secrets secret.Bundle     `json:"secrets"`
	Sealed  map[string][]byte `json:"sealed,omitempty"` // by digest
}

// Output is a piece of the output of a command.
type Output struct {
	Stderr bool
	Text   []byte // lent
}

// CommandResult is the result of commands. Exit and Signal are from the last command that ran.
type CommandResult struct {
	ID       int           `json:"id"`   // in the history of commands
	Exit     int           `json:"exit"` // -1 when a signal or the timeout ended it
	Signal   string        `json:"signal,omitempty"`
	TimedOut bool          `json:"timed_out,omitempty"`
	Stdout   string        `json:"stdout"` // at most 1 MiB, cut in the middle
	Stderr   string        `json:"stderr"`
	Duration time.Duration `json:"duration_ns"`
}

// OK reports whether all commands succeeded.
func (r *CommandResult) OK() bool { return r.Exit == 0 && !r.TimedOut }

// File is a file on a target.
type File struct {
	Path   string `json:"path"`   // absolute
	Digest string `json:"digest"` // sha256:…
	Size   int64  `json:"size"`
	// Owner, Group and Mode: "" keeps the value of an existing file. For a new file the
	// defaults are root, root and 0644. Mode is octal.
	Owner string `json:"owner,omitempty"`
	Group string `json:"group,omitempty"`
	Mode  string `json:"mode,omitempty"`
}

// PutResult describes the changes that Put made.
type PutResult struct {
	ID      int  `json:"id"` // in the history of commands, 0 if nothing changed
	Changed bool `json:"changed"`
	Sent    bool `json:"sent"` // the content, and not only owner or mode
}
