package enrol

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path"
	"runtime"
	"strings"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/hint"
	"fettle.dev/fettle/packaging"
)

// install installs the package, or otherwise the binary and the units.
func (e *enrolment) install(ctx context.Context) error {
	if e.Install.archive {
		return e.installPackage(ctx)
	}
	status, err := e.packageStatus(ctx)
	if err != nil {
		return err
	}
	if version, ok := strings.CutPrefix(status, "installed "); ok {
		e.With = "the package " + version + " that was installed"
		return nil
	}
	e.With = "this binary in " + installedBinary
	if arch := e.host.Arch; arch != "" && arch != runtime.GOARCH {
		return hint.Refuse("Install a package for its architecture: --package FILE",
			fmt.Sprintf("cannot install this binary there: it is for %s, and the architecture of the host is %s",
				runtime.GOARCH, arch))
	}
	for _, name := range packaging.AgentUnits() {
		if err := e.putUnit(ctx, name); err != nil {
			return err
		}
	}
	return e.put(ctx, e.Install.file, e.Install.open)
}

// packageStatus returns the status and the version of the package on the host.
func (e *enrolment) packageStatus(ctx context.Context) (string, error) {
	_, status, err := e.ask(ctx, "dpkg-query", "--show", "--showformat=${db:Status-Status} ${Version}", "fettle")
	return status, err
}

// put gives a file of the host its content, and notes a change.
func (e *enrolment) put(ctx context.Context, f executor.File, from func() (io.ReadCloser, error)) error {
	res, err := e.host.Access.Put(ctx, f, from, e.host.Options)
	e.Installed = e.Installed || err == nil && res.Changed
	return err
}

func (e *enrolment) putUnit(ctx context.Context, name string) error {
	text, err := packaging.Unit(name)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	f := executor.File{Path: packaging.UnitDirectory + "/" + name, Digest: "sha256:" + hex.EncodeToString(sum[:]),
		Size: int64(len(text)), Owner: "root", Group: "root", Mode: "0644"}
	return e.put(ctx, f, func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil })
}

// installPackage installs the package with apt, which also installs its dependencies. Only another version
// of the installed package is a change, not the copied file.
func (e *enrolment) installPackage(ctx context.Context) error {
	e.With = "the package " + path.Base(e.Install.source)
	before, err := e.packageStatus(ctx)
	if err != nil {
		return err
	}
	if _, err := e.host.Access.Put(ctx, e.Install.file, e.Install.open, e.host.Options); err != nil {
		return err
	}
	_, err = e.run(ctx, "install the package", executor.Command{Env: []string{"DEBIAN_FRONTEND=noninteractive"},
		Argv: [][]string{
			{"apt-get", "install", "--quiet", "--yes", "--no-install-recommends", "--option=Dpkg::Options::=--force-confold",
				copiedPackage},
			{"rm", "--force", "--", copiedPackage},
		}})
	if err != nil {
		return err
	}
	after, err := e.packageStatus(ctx)
	e.Installed = before != after
	return err
}
