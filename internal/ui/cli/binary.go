package cli

import "context"

// Binary is this program as a file, which an agent may exchange for another.
type Binary struct {
	Arch string // as Go calls it
	// File is where the one that runs lies, and Digest names what is in it.
	File   func() (string, error)
	Digest func() (string, error)
	// Become ends this process for another program with the same words, and comes back
	// with an error only.
	Become func(file string) error
	// Try runs another program with the same words until it ends; when ctx does, it is
	// asked to, and then made to. The error says how it ended.
	Try func(ctx context.Context, file string) error
	// Run runs a program and gives what it prints.
	Run func(ctx context.Context, argv []string) ([]byte, error)
}
