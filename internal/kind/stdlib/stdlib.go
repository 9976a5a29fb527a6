// Package stdlib holds the kinds that are written in the language itself: each
// *.hcl file has define blocks, which every repository can use.
//
//	entries, _ := fs.ReadDir(stdlib.Files(), ".")
package stdlib

import (
	"embed"
	"io/fs"
)

//go:embed *.hcl
var files embed.FS

// Files are the kinds' sources.
func Files() fs.FS { return files }
