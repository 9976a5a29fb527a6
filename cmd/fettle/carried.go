package main

import (
	"embed"
	"io/fs"
)

// programs is what packaging/program.sh lays over the folder: cmd/fettle-target for the
// processors of targets. A plain go build has none.
//
//go:embed programs
var programs embed.FS

func carried() fs.FS {
	dir, err := fs.Sub(programs, "programs")
	if err != nil {
		panic(err) // the name is valid
	}
	return dir
}
