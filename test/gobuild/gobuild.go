// Package gobuild builds binaries of this module for tests in their shipped form: static, without local paths
// and without debug information. All tests use the same flags, so they share the build cache.
//
//	bin := filepath.Join(t.TempDir(), "fettle")
//	if err := gobuild.Program(bin, gobuild.Fettle, "-tags", "fettlefault"); err != nil {
//		t.Fatal(err)
//	}
package gobuild

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
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
//
// Test processes with the same flags share one binary in the module's .cache, and each gets a copy: go build links
// again only if a source has changed.
func Program(file, pkg string, flags ...string) error {
	top, err := dependOnSources()
	if err != nil {
		return err
	}
	args := append([]string{"go", "build", "-trimpath", "-ldflags", Link}, flags...)
	if slices.Contains(flags, "-overlay") { // the overlay is a temporary file: no other process has the same flags
		args = append(args, "-o", file, pkg)
	} else {
		shared, err := sharedDir(top, pkg, flags)
		if err != nil {
			return err
		}
		args = append([]string{"sh", "-c", buildAndCopy, "sh", shared, file, pkg}, args...)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot build %s: %w\n%s", pkg, err, out)
	}
	return nil
}

// buildAndCopy is a script, because go test would add the shared files to the inputs of the running test, and not cache
// its result.
//
//go:embed build.sh
var buildAndCopy string

// sharedDir returns the directory of a shared binary. Its name depends on the package and the flags.
func sharedDir(top, pkg string, flags []string) (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	if !strings.HasPrefix(pkg, ".") {
		dir = ""
	}
	key := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q", dir, pkg, os.Getenv("GOARCH"), flags))
	return filepath.Join(top, ".cache", "programs", hex.EncodeToString(key[:8])), nil
}

// dependOnSources makes the cached result of the running test depend on the sources of all
// programs: go test sees which files a test asks for, but not what go build reads. Without
// it a test of a program would pass from the cache after the program has changed.
// See "go help test" on caching. It returns the directory of the module.
func dependOnSources() (top string, err error) {
	top, err = moduleDir()
	if err != nil {
		return "", err
	}
	for _, dir := range []string{"cmd", "internal"} {
		err := filepath.WalkDir(filepath.Join(top, dir), func(path string, _ fs.DirEntry, err error) error {
			if err == nil {
				_, err = os.Stat(path)
			}
			return err
		})
		if err != nil {
			return "", fmt.Errorf("cannot look at the sources: %w", err)
		}
	}
	return top, nil
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
