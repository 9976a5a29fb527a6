package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sync"
	"time"
)

// BinaryFormat is the format of the signed text of a Binary.
const BinaryFormat = "fettle.program/1"

// Limits of a Binary.
const (
	MaxBinary    = 512 << 20 // bytes of one file
	MaxBinaryTry = time.Hour
	MinBinaryTry = 5 * time.Second
	BinaryTry    = 5 * time.Minute // the default
)

// Binary is the fettle binary that agents must run: the same version for each architecture. The
// digest of the file identifies the binary that an agent runs.
type Binary struct {
	Version string `json:"version"` // for display, and to find the newer version, as dpkg compares them
	// Files are by architecture, in Go's names: "amd64".
	Files map[string]Bundle `json:"files"`
	// Within is the time, in seconds, in which a new binary must reach a hub before the agent
	// restores the old binary; 0 is BinaryTry.
	Within int64 `json:"within,omitempty"`
	// Signature is an SSH signature of Text, by a key that agents trust; "" is none.
	Signature string `json:"signature,omitempty"`
}

// Text returns the text to sign, with
//
//	ssh-keygen -Y sign -n fettle-program -f KEY program.json
func (p Binary) Text() []byte {
	b, err := json.Marshal(struct {
		Format  string            `json:"format"`
		Version string            `json:"version"`
		Files   map[string]Bundle `json:"files"`
	}{BinaryFormat, p.Version, p.Files})
	if err != nil {
		panic(err) // all fields can be encoded
	}
	return append(b, '\n')
}

// Try is the time in which a new binary must reach a hub.
func (p Binary) Try() time.Duration {
	if p.Within == 0 {
		return BinaryTry
	}
	return time.Duration(p.Within) * time.Second
}

var (
	binaryVersion = sync.OnceValue(
		func() *regexp.Regexp { return regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.+~:-]{0,99}$`) })
	architecture = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]{1,20}$`) })
)

// Check returns an error if the binary is invalid.
func (p Binary) Check() error {
	switch {
	case !binaryVersion().MatchString(p.Version):
		return fmt.Errorf("cannot accept a binary of the version %.40q: a version has letters, digits and . + ~ : -",
			p.Version)
	case len(p.Files) == 0 || len(p.Files) > 20:
		return fmt.Errorf("cannot accept a binary of %d files: it must have one for each architecture, and at most 20",
			len(p.Files))
	case p.Within != 0 && (p.Try() < MinBinaryTry || p.Try() > MaxBinaryTry):
		return fmt.Errorf("cannot accept a time limit of %s for a new binary: the minimum is %s, and the maximum is %s",
			p.Try(), MinBinaryTry, MaxBinaryTry)
	case len(p.Signature) > 32<<10:
		return errors.New("cannot accept a signature of a binary of more than 32 KiB")
	}
	for _, arch := range slices.Sorted(maps.Keys(p.Files)) {
		f := p.Files[arch]
		if !architecture().MatchString(arch) || f.Size <= 0 || f.Size > MaxBinary {
			return fmt.Errorf("cannot accept a binary of %d bytes for %.30q", f.Size, arch)
		}
		if err := CheckDigest(f.Digest); err != nil {
			return err
		}
	}
	return nil
}

func sameBinary(a, b *Binary) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Version == b.Version && a.Within == b.Within && a.Signature == b.Signature && maps.Equal(a.Files, b.Files)
}

// NewerError means that a trusted key signed an assignment which this version cannot read. Binary
// is the binary that it requires of agents, if that can be read; otherwise nil.
type NewerError struct {
	Binary *Binary
	err    error
}

func (e *NewerError) Error() string {
	return e.err.Error() + ". A hub of this fleet signed it, so it needs a newer version of fettle. This agent ignores it. Upgrade this agent: fettle agent upgrade"
}

// Unwrap returns the reason why it cannot be read.
func (e *NewerError) Unwrap() error { return e.err }

func newerError(payload []byte, err error) error {
	var a struct {
		Binary *Binary `json:"program"`
	}
	if json.Unmarshal(payload, &a) != nil || a.Binary == nil || a.Binary.Check() != nil {
		return &NewerError{err: err}
	}
	return &NewerError{a.Binary, err}
}
