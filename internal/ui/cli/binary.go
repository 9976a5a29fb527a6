package cli

import "context"

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
	// Run runs a program and gives what it prints.
	Run func(ctx context.Context, argv []string) ([]byte, error)
}
