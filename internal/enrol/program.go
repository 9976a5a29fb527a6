package enrol

import (
	"fmt"
	"io"
	"os"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/here"
)

// Paths on hosts: the installed binary, and a package until it is installed.
const (
	installedBinary = "/usr/bin/fettle"
	copiedPackage   = "/var/cache/apt/archives/fettle-enrol.deb"
)

// Program is a package or a binary of this machine that is installed on hosts. It is read once for all
// of them.
type Program struct {
	file    executor.File // on hosts
	source  string        // on this machine
	archive bool          // it is a package
}

// Binary returns the binary of this process. On a host that has the package of fettle, it is not
// installed.
func Binary() (Program, error) {
	source, err := os.Executable()
	if err != nil {
		return Program{}, fmt.Errorf("cannot find this binary to copy it to targets: %w", err)
	}
	return program(source, executor.File{Path: installedBinary, Mode: "0755"})
}

// Package returns a file with a Debian package of fettle.
func Package(name string) (Program, error) {
	p, err := program(name, executor.File{Path: copiedPackage, Mode: "0644"})
	p.archive = true
	return p, err
}

func program(source string, to executor.File) (Program, error) {
	f, err := here.Describe(source)
	f.Path, f.Owner, f.Group, f.Mode = to.Path, "root", "root", to.Mode
	return Program{file: f, source: source}, err
}

func (p Program) open() (io.ReadCloser, error) { return os.Open(p.source) }
