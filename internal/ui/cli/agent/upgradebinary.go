package agent

import (
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/ui/cli"
)

// readBinary reads what the files are.
func readBinary(ctx context.Context, s *cli.Printer, f upgradeFlags) (fleet.Binary, error) {
	p := fleet.Binary{Version: f.version, Files: map[string]fleet.Bundle{}, Within: int64(f.within / time.Second)}
	own := ""
	for _, name := range f.files {
		arch, b, err := fileOf(name)
		if err != nil {
			return p, err
		}
		if _, twice := p.Files[arch]; twice {
			return p, cli.Refuse("Give one file for each architecture", fmt.Sprintf("cannot use two binaries for %s", arch))
		}
		p.Files[arch] = b
		if s.App.Agent.Binary != nil && arch == s.App.Agent.Binary.Arch {
			own = name
		}
	}
	if own != "" {
		said, err := versionOf(ctx, s, own)
		if err != nil {
			return p, err
		}
		if f.version != "" && f.version != said {
			return p, cli.Refuse("Leave --version out, or give the file of that version",
				fmt.Sprintf("cannot use %s as version %s: it reports version %s", own, f.version, said))
		}
		p.Version = said
	}
	if p.Version == "" {
		return p, cli.Refuse("Add --version VERSION",
			"cannot determine the version of a binary that does not run on this host")
	}
	return p, p.Check()
}

// versionOf returns the version that a program prints.
func versionOf(ctx context.Context, s *cli.Printer, file string) (string, error) {
	file, err := filepath.Abs(file)
	if err != nil {
		return "", fmt.Errorf("cannot find the binary: %w", err)
	}
	out, err := s.App.Agent.Binary.Run(ctx, []string{file, "version", "--json"})
	var v cli.VersionDoc
	if err == nil {
		err = json.Unmarshal(out, &v)
	}
	if err == nil && v.Version == "" {
		err = fmt.Errorf("it does not report its version")
	}
	if err != nil {
		return "", fmt.Errorf("cannot run the binary %s: %w", file, err)
	}
	return v.Version, nil
}

// architectureOf returns Go's name of an architecture in an ELF header.
func architectureOf(m elf.Machine) string {
	switch m {
	case elf.EM_X86_64:
		return "amd64"
	case elf.EM_AARCH64:
		return "arm64"
	case elf.EM_RISCV:
		return "riscv64"
	case elf.EM_PPC64:
		return "ppc64le"
	case elf.EM_S390:
		return "s390x"
	}
	return ""
}

// fileOf reads the architecture of a binary, and describes its content.
func fileOf(name string) (arch string, b fleet.Bundle, err error) {
	file, err := os.Open(name)
	if err != nil {
		return "", b, fmt.Errorf("cannot read the binary: %w", err)
	}
	defer file.Close()
	e, err := elf.NewFile(file)
	if err == nil {
		arch = architectureOf(e.Machine)
	}
	if err != nil || arch == "" {
		return "", b, cli.Refuse("Use /usr/bin/fettle from a package of the other release",
			fmt.Sprintf("cannot use %s: it is not a binary for a supported architecture", name))
	}
	sum := sha256.New()
	if b.Size, err = io.Copy(sum, io.NewSectionReader(file, 0, fleet.MaxBinary+1)); err != nil {
		return "", b, fmt.Errorf("cannot read the binary: %w", err)
	}
	b.Digest = "sha256:" + hex.EncodeToString(sum.Sum(nil))
	return arch, b, nil
}

type upgradeFlags struct {
	files     []string
	version   string
	signature string
	text      bool
	within    time.Duration
}
