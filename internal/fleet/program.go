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

// ProgramFormat is the format of what is signed of a Program.
const ProgramFormat = "fettle.program/1"

// Bounds of a Program.
const (
	MaxProgram    = 512 << 20 // bytes of one file
	MaxProgramTry = time.Hour
	MinProgramTry = 5 * time.Second
	ProgramTry    = 5 * time.Minute // where nobody says
)

// Program is the program that agents are to be: the same version for each architecture.
// What it is called by is the digest of the file that an agent runs.
type Program struct {
	Version string `json:"version"` // for people, and to tell what is newer, as dpkg compares
	// Files are by architecture, as Go calls it: "amd64".
	Files map[string]Bundle `json:"files"`
	// Within is how long, in seconds, a new one has to reach a hub before the old one
	// comes back; 0 is ProgramTry.
	Within int64 `json:"within,omitempty"`
	// Signature is SSH's over Text, by a key that agents believe; "" is none.
	Signature string `json:"signature,omitempty"`
}

// Text is what is signed, with
//
//	ssh-keygen -Y sign -n fettle-program -f KEY program.json
func (p Program) Text() []byte {
	b, err := json.Marshal(struct {
		Format  string            `json:"format"`
		Version string            `json:"version"`
		Files   map[string]Bundle `json:"files"`
	}{ProgramFormat, p.Version, p.Files})
	if err != nil {
		panic(err) // there is nothing in it that has no JSON
	}
	return append(b, '\n')
}

// Try is how long a new program has to reach a hub.
func (p Program) Try() time.Duration {
	if p.Within == 0 {
		return ProgramTry
	}
	return time.Duration(p.Within) * time.Second
}

var (
	programVersion = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.+~:-]{0,99}$`) })
	architecture   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]{1,20}$`) })
)

// Check says what is wrong with it.
func (p Program) Check() error {
	switch {
	case !programVersion().MatchString(p.Version):
		return fmt.Errorf("cannot take a program of the version %.40q: it has letters, digits and . + ~ : -", p.Version)
	case len(p.Files) == 0 || len(p.Files) > 20:
		return fmt.Errorf("cannot take a program of %d files: it has one for each architecture", len(p.Files))
	case p.Within != 0 && (p.Try() < MinProgramTry || p.Try() > MaxProgramTry):
		return fmt.Errorf("cannot give a program %s: %s are the least, %s the most", p.Try(), MinProgramTry, MaxProgramTry)
	case len(p.Signature) > 32<<10:
		return errors.New("cannot take a signature of so many bytes")
	}
	for _, arch := range slices.Sorted(maps.Keys(p.Files)) {
		f := p.Files[arch]
		if !architecture().MatchString(arch) || f.Size <= 0 || f.Size > MaxProgram {
			return fmt.Errorf("cannot take a program of %d bytes for %.30q", f.Size, arch)
		}
		if err := CheckDigest(f.Digest); err != nil {
			return err
		}
	}
	return nil
}

func sameProgram(a, b *Program) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Version == b.Version && a.Within == b.Within && a.Signature == b.Signature && maps.Equal(a.Files, b.Files)
}

// NewerError is about an assignment that a believed key signed and this program cannot
// read. Program is what it asks agents to be, where that can be read; nil for nothing.
type NewerError struct {
	Program *Program
	err     error
}

func (e *NewerError) Error() string {
	return e.err.Error() + ". A hub of this fleet signed it, so it is of a newer program than this one; nothing of it is done. Upgrade this agent: fettle hub upgrade"
}

// Unwrap gives why it cannot be read.
func (e *NewerError) Unwrap() error { return e.err }

func newerError(payload []byte, err error) error {
	var a struct {
		Program *Program `json:"program"`
	}
	if json.Unmarshal(payload, &a) != nil || a.Program == nil || a.Program.Check() != nil {
		return &NewerError{err: err}
	}
	return &NewerError{a.Program, err}
}
