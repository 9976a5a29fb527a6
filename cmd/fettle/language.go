package main

import (
	"time"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/compile/child"
	"fettle.dev/fettle/internal/compile/limited"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/format"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/secret/vault"
	"fettle.dev/fettle/internal/ui/cli"
)

// compileChild is the word that makes this program a compiler with limits.
const compileChild = "compile-child"

// programChild is the word that makes this program a sandbox for one of a
// repository's.
const programChild = "program-child"

// language is the front half for the command line. Repositories are compiled in one child process,
// tests in several.
func language(c *limited.Compiler, more, many *limited.Pool) cli.Language {
	return cli.Language{
		Limit: func(timeout time.Duration, memory int64) {
			c.Limit(timeout, memory)
			more.Limit(timeout, memory)
			many.Limit(timeout, memory)
		},
		Secrets: func(ids func() (vault.Identities, error)) {
			of := func(tree repo.Tree) child.Vault { return vault.New(tree, ids) }
			c.Secrets(of)
			many.Secrets(of)
		},
		Prepare:  c.Prepare,
		Queries:  c,
		Parallel: many,
		Sealed:   more,
		Fleet:    more.Fleet,
		Names:    more.Names,
		Diff:     more.Diff,
		Format:   func(path string, src []byte) ([]byte, diag.List) { return format.Source(src, path) },
		Kinds:    compile.Kinds,
	}
}
