package ssh

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
)

// Programs are this program for each kind of processor. It is safe for concurrent
// use; a file is read once.
type Programs struct {
	self    string   // this program
	folders []string // where those for other processors are
	mu      sync.Mutex
	found   map[string]*Program
}

// Program is one file of this program, ready to travel.
type Program struct {
	Digest string                 // sha256 in hex
	Packed func() ([]byte, error) // gzip of it
}

// NewPrograms knows the program that runs, and looks for fettle-amd64 and
// fettle-arm64 beside it and in these folders.
func NewPrograms(self string, folders ...string) *Programs {
	return &Programs{self: self, folders: append([]string{filepath.Dir(self)}, folders...), found: map[string]*Program{}}
}

// architectures are the processors for which there can be a program.
func architectures() []string { return []string{"amd64", "arm64"} }

// For gives the program for a processor; nil when there is none of this very build.
func (p *Programs) For(arch string) (*Program, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f, ok := p.found[arch]; ok {
		return f, nil
	}
	file, err := p.file(arch)
	if err != nil || file == "" {
		p.found[arch] = nil
		return nil, err
	}
	f, err := read(file)
	if err == nil {
		p.found[arch] = f
	}
	return f, err
}

func (p *Programs) file(arch string) (string, error) {
	if arch == runtime.GOARCH {
		return p.self, nil
	}
	for _, dir := range p.folders {
		file := filepath.Join(dir, "fettle-"+arch)
		if _, err := os.Stat(file); err != nil {
			continue
		}
		return file, p.same(file, arch)
	}
	return "", nil
}

// same refuses a program of another build: the two ends would not mean the same.
func (p *Programs) same(file, arch string) error {
	ours, err := buildinfo.ReadFile(p.self)
	if err != nil {
		return fmt.Errorf("cannot tell the build of %s: %w", p.self, err)
	}
	other, err := buildinfo.ReadFile(file)
	if err != nil {
		return fmt.Errorf("cannot use %s: it is no program of fettle's: %w", file, err)
	}
	if setting(other, "GOARCH") != arch {
		return fmt.Errorf("cannot use %s: it is for %s", file, setting(other, "GOARCH"))
	}
	for _, key := range []string{"vcs.revision", "vcs.modified"} {
		if setting(ours, key) != setting(other, key) {
			return fmt.Errorf("cannot use %s: it is of another build (%s) than this program (%s); build both anew: make programs", file, setting(other, "vcs.revision"), setting(ours, "vcs.revision"))
		}
	}
	return nil
}

func setting(b *buildinfo.BuildInfo, key string) string {
	for _, s := range b.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

// read digests a program, and packs it when somebody wants that.
func read(file string) (*Program, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read this program to bring it to a target: %w", err)
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return nil, fmt.Errorf("cannot read this program to bring it to a target: %w", err)
	}
	return &Program{Digest: hex.EncodeToString(sum.Sum(nil)), Packed: sync.OnceValues(func() ([]byte, error) { return pack(file) })}, nil
}

func pack(file string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read this program to bring it to a target: %w", err)
	}
	var out bytes.Buffer
	z, _ := gzip.NewWriterLevel(&out, gzip.BestSpeed) // a level that there is
	_, _ = z.Write(text)                              // into memory
	err = z.Close()
	return out.Bytes(), err
}
