// Package stdlib holds the kinds that are written in the language itself: each
// *.hcl file has define blocks, which every repository can use. Each define
// begins its line: that is how its file is found when the kind is used, and only
// then is the file parsed. A description ends with how the kind is undone:
// "Undone completely", "Undone partly: …" or "Undone by the author: …".
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
