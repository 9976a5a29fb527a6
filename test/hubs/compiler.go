package hubs

import (
	"context"
	"fmt"
	"os"

	"fettle.dev/fettle/internal/compile/limited"
	"fettle.dev/fettle/internal/fleet/hub/differences"
)

// compilerWord is the argument that makes a test binary a compiler.
const compilerWord = "compile-child"

// IsCompiler reports whether a hub started this process as its compiler.
func IsCompiler() bool { return len(os.Args) > 1 && os.Args[1] == compilerWord }

// Run runs the tests of a package, or the compiler of a hub, and returns the exit code. TestMain must call it in
// packages whose tests compare commits.
func Run(m interface{ Run() int }) int {
	if !IsCompiler() {
		return m.Run()
	}
	if err := limited.Child(os.Args[2:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// comparer starts this binary as a compiler.
func comparer(ctx context.Context) differences.Compiler { return limited.NewPool(ctx, compilerWord, 1) }
