package ssh

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"sync"
)

// Programs are the binaries that can be uploaded to a target, one for each architecture.
// It is safe for concurrent use; each file is read once.
type Programs struct {
	self    string // this program
	carried fs.FS  // the embedded binaries
	mu      sync.Mutex
	found   map[string]*Program
}

// Program is one program, ready to travel.
type Program struct {
	Digest string                 // sha256 in hex
	Packed func() ([]byte, error) // gzip of it
}

// NewPrograms returns the binaries embedded in carried. For each architecture,
// fettle-ARCH.gz is the binary and fettle-ARCH.sha256 the digest of its uncompressed
// content, in hex. If the architecture of this machine is not among them, the running
// binary itself is uploaded.
func NewPrograms(self string, carried fs.FS) *Programs {
	return &Programs{self: self, carried: carried, found: map[string]*Program{}}
}

// architectures are the processors for which there can be a program.
func architectures() []string { return []string{"amd64", "arm64"} }

// For gives the program for a processor; nil when there is none.
func (p *Programs) For(arch string) (*Program, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f, ok := p.found[arch]; ok {
		return f, nil
	}
	f, err := p.find(arch)
	if err == nil {
		p.found[arch] = f
	}
	return f, err
}

func (p *Programs) find(arch string) (*Program, error) {
	name := "fettle-" + arch
	sum, err := fs.ReadFile(p.carried, name+".sha256")
	if errors.Is(err, fs.ErrNotExist) {
		if arch == runtime.GOARCH {
			return read(p.self)
		}
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the fettle binary for %s: %w", arch, err)
	}
	return &Program{
		Digest: strings.TrimSpace(string(sum)),
		Packed: func() ([]byte, error) { return fs.ReadFile(p.carried, name+".gz") },
	}, nil
}

// read computes the digest of a binary; the binary is compressed on first use.
func read(file string) (*Program, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read this binary to copy it to a target: %w", err)
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return nil, fmt.Errorf("cannot read this binary to copy it to a target: %w", err)
	}
	return &Program{Digest: hex.EncodeToString(sum.Sum(nil)),
		Packed: sync.OnceValues(func() ([]byte, error) { return pack(file) })}, nil
}

func pack(file string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read this binary to copy it to a target: %w", err)
	}
	var out bytes.Buffer
	z, _ := gzip.NewWriterLevel(&out, gzip.BestSpeed) // a level that there is
	_, _ = z.Write(text)                              // into memory
	err = z.Close()
	return out.Bytes(), err
}
