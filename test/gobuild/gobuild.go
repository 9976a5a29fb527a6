// Package gobuild builds programs of this module for tests, as they are
// shipped: static and without the paths of this machine. All tests do it alike,
// so what one has compiled is there for the others.
//
//	bin := filepath.Join(t.TempDir(), "fettle")
//	if err := gobuild.Program(bin, gobuild.Fettle, "-tags", "fettlefault"); err != nil {
//		t.Fatal(err)
//	}
package gobuild

import (
	"fmt"
	"os"
	"os/exec"
)

// Packages of programs.
const (
	Fettle = "fettle.dev/fettle/cmd/fettle"
	Target = "fettle.dev/fettle/cmd/fettle-target" // needs -tags target
)

// Program builds a package into a file, which must lie in a folder that is there.
// The flags are those of go build. The error shows what the compiler says.
func Program(file, pkg string, flags ...string) error {
	cmd := exec.Command("go", append(append([]string{"build", "-trimpath", "-o", file}, flags...), pkg)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot build %s: %w\n%s", pkg, err, out)
	}
	return nil
}
