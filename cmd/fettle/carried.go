package main

import (
	"embed"
	"io/fs"
)

// programs is the directory that packaging/program.sh fills: cmd/fettle-target for the
// architectures of targets. It is empty in a plain go build.
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
