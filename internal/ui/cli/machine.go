package cli

import (
	"context"
	"io"
	"time"

	"fettle.dev/fettle/internal/executor/here"
	"fettle.dev/fettle/internal/fact"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/step"
)

// Machine identifies the machine of a command.
type Machine = here.Machine

// Agent has the dependencies of the agent of this machine.
type Agent struct {
	// State opens a state directory for the files of an agent, and creates it if necessary; nil: there
	// are no agents.
	State func(m Machine) (host.FS, func() error, error)
	// Services opens the file system of a machine from its root, and returns a function that reloads a
	// unit; nil: machines have no services.
	Services func(m Machine) (files host.FS, reload func(ctx context.Context, unit string) error, closing func() error,
		err error)
	// Watch returns the ID of the boot of a machine, and a function that reports changes of its units,
	// which may be nil. nil: both are unknown.
	Watch func(m Machine) (boot string, units func(ctx context.Context, each func(name string)) error)
	// Zone returns the time zone of a machine, or "" if it is unknown; nil: it is unknown.
	Zone func(m Machine) string
	// Place returns the guests of a machine; ok is false if they are unknown. nil: they are unknown.
	Place func(m Machine) (p fact.Place, ok bool)
	// Ready notifies the service manager that a daemon is ready, and then sends keep-alives until ctx
	// ends or the returned function is called. It reports that end, too.
	Ready func(ctx context.Context) func()
	// Calm releases resources that a daemon needs only while it works. worked is false if it has not
	// worked since the last call. nil: nothing is released.
	Calm func(worked bool)
	// Runs serves the runs of a machine at the socket of the agent, until end is called. Clock returns the time since
	// the boot. nil: no runs are served.
	Runs  func(ctx context.Context, m Machine, serve func(context.Context, io.ReadWriteCloser)) (end func(), err error)
	Clock func() time.Duration
	// Test tests the condition of a step CHECK on a machine once, within a time limit; nil: it cannot.
	Test func(ctx context.Context, m Machine, s step.Step, limit time.Duration) error
	// Binary is the file of this binary; nil: it cannot be replaced.
	Binary *Binary
}

// Binary is this program as a file, which an agent may exchange for another.
type Binary struct {
	Arch string // as Go calls it
	// File returns the path of the running binary, and Digest the digest of its content.
	File   func() (string, error)
	Digest func() (string, error)
	// Become replaces this process with another binary and the same arguments. It returns only an
	// error.
	Become func(file string) error
	// Try runs another binary with the same arguments until it ends. When ctx ends, the process gets a
	// signal, and later it is killed. The error describes its end.
	Try func(ctx context.Context, file string) error
	// Run runs a program and returns its output.
	Run func(ctx context.Context, argv []string) ([]byte, error)
}

// Support is the data of a support bundle about a machine that the engine does not have.
type Support struct {
	// Records counts the records of each run's journal by kind.
	Records map[int]map[string]int
	// Outputs are the outputs of harmless commands by name: disks, packages.
	Outputs map[string]string
	// Missing says in a sentence each what could not be found out.
	Missing []string
}
