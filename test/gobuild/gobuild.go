// Package gobuild builds binaries of this module for tests in their shipped form: static, without local paths
// and without debug information. All tests use the same flags, so they share the build cache.
//
//	bin := filepath.Join(t.TempDir(), "fettle")
//	if err := gobuild.Program(bin, gobuild.Fettle, "-tags", "fettlefault"); err != nil {
//		t.Fatal(err)
//	}
package gobuild

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// Link is the flag of the linker that all binaries share: without debug information they are linked in half the time.
const Link = "-w"

// Packages of programs.
const (
	Fettle = "fettle.dev/fettle/cmd/fettle"
	Target = "fettle.dev/fettle/cmd/fettle-target"
)

// Program builds a package into a file, whose directory must exist. The flags are flags of go build, in which
// -ldflags replaces Link. The error contains the output of the compiler.
func Program(file, pkg string, flags ...string) error {
	if err := dependOnSources(); err != nil {
		return err
	}
	args := append([]string{"build", "-trimpath", "-ldflags", Link, "-o", file}, flags...)
	cmd := exec.Command("go", append(args, pkg)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot build %s: %w\n%s", pkg, err, out)
	}
	return nil
}

// dependOnSources makes the cached result of the running test depend on the sources of all
// programs: go test sees which files a test asks for, but not what go build reads. Without
// it a test of a program would pass from the cache after the program has changed.
// See "go help test" on caching.
func dependOnSources() error {
	top, err := moduleDir()
	if err != nil {
		return err
	}
	for _, dir := range []string{"cmd", "internal"} {
		err := filepath.WalkDir(filepath.Join(top, dir), func(path string, _ fs.DirEntry, err error) error {
			if err == nil {
				_, err = os.Stat(path)
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("cannot look at the sources: %w", err)
		}
	}
	return nil
}

// moduleDir returns the closest parent of the working directory that has a go.mod.
func moduleDir() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("cannot find go.mod above the working directory: run the tests inside the module")
		}
		dir = up
	}
}
