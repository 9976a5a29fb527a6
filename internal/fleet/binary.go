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

// Bounds of a Program.
const (
	MaxBinary    = 512 << 20 // bytes of one file
	MaxBinaryTry = time.Hour
	MinBinaryTry = 5 * time.Second
	BinaryTry    = 5 * time.Minute // the default
)

// Binary is the fettle binary that agents must run: the same version for each architecture.
// Its name is the digest of the file that an agent runs.
type Binary struct {
	Version string `json:"version"` // for people, and to tell what is newer, as dpkg compares
	// Files are by architecture, as Go calls it: "amd64".
	Files map[string]Bundle `json:"files"`
	// Within is how long, in seconds, a new one has to reach a hub before the old one
	// comes back; 0 is BinaryTry.
	Within int64 `json:"within,omitempty"`
	// Signature is SSH's over Text, by a key that agents believe; "" is none.
	Signature string `json:"signature,omitempty"`
}

// Text is what is signed, with
//
//	ssh-keygen -Y sign -n fettle-program -f KEY program.json
func (p Binary) Text() []byte {
	b, err := json.Marshal(struct {
		Format  string            `json:"format"`
		Version string            `json:"version"`
		Files   map[string]Bundle `json:"files"`
	}{BinaryFormat, p.Version, p.Files})
	if err != nil {
		panic(err) // there is nothing in it that has no JSON
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
	binaryVersion = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.+~:-]{0,99}$`) })
	architecture  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]{1,20}$`) })
)

// Check says what is wrong with it.
func (p Binary) Check() error {
	switch {
	case !binaryVersion().MatchString(p.Version):
		return fmt.Errorf("cannot accept a binary of the version %.40q: it has letters, digits and . + ~ : -", p.Version)
	case len(p.Files) == 0 || len(p.Files) > 20:
		return fmt.Errorf("cannot accept a binary of %d files: it has one for each architecture", len(p.Files))
	case p.Within != 0 && (p.Try() < MinBinaryTry || p.Try() > MaxBinaryTry):
		return fmt.Errorf("cannot give a program %s: %s are the least, %s the most", p.Try(), MinBinaryTry, MaxBinaryTry)
	case len(p.Signature) > 32<<10:
		return errors.New("cannot take a signature of so many bytes")
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

// NewerError is about an assignment that a believed key signed and this program cannot
// read. Program is what it asks agents to be, where that can be read; nil for nothing.
type NewerError struct {
	Binary *Binary
	err    error
}

func (e *NewerError) Error() string {
	return e.err.Error() + ". A hub of this fleet signed it, so it is of a newer binary than this one; nothing of it is done. Upgrade this agent: fettle agent upgrade"
}

// Unwrap gives why it cannot be read.
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
