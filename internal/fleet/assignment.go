package fleet

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/exported"
	"fettle.dev/fettle/internal/window"
)

// AssignmentFormat is the supported format.
const AssignmentFormat = "fettle.assignment/2"

// MaxAssignment is the maximum size of an assignment, in bytes.
const MaxAssignment = 1 << 20

// Assignment is the desired configuration of one target, the only object that a fleet stores for
// it. It is immutable once it is signed.
type Assignment struct {
	Format     string   `json:"format"`
	Target     TargetID `json:"target"`
	Name       string   `json:"name"` // of the target; lists are compiled for this name
	Epoch      uint64   `json:"epoch"`
	Generation uint64   `json:"generation"`
	Issued     int64    `json:"issued"` // seconds since 1970, by the hub's clock
	// Labels and Fleet are the target's, as configurations see them.
	Labels map[string]string `json:"labels,omitempty"`
	Fleet  string            `json:"fleet,omitempty"`
	// Environment is the environment that an operator created for the target; nil means none.
	Environment *Environment `json:"environment,omitempty"`
	// TestsFor are environments that operators created, and whose checks the target tests from outside: sorted by name,
	// without variables.
	TestsFor []Environment `json:"tests_for,omitempty"`
	// Root is the root bundle: everything of the repository outside of modules/.
	Root Assigned `json:"top"`
	// Modules are in the order of the catalog, each once.
	Modules []Assigned `json:"modules"`
	// Exported are the values of other targets that the modules use: a table for each output that
	// they name, sorted.
	Exported []exported.Table `json:"exported,omitempty"`
	// Frozen keeps the agent from applying changes; it is the reason, for operators.
	Frozen string `json:"frozen,omitempty"`
	// Windows are the windows in which the agent may begin to apply the assignment, sorted by name. None:
	// at any time.
	Windows []window.Window `json:"windows,omitempty"`
	// Withheld are directories of modules that the root bundle can name, and that the hub does not assign now, sorted.
	Withheld []string `json:"withheld,omitempty"`
	// Withdrawn is the reason why the hub withholds the configuration of a suspended target.
	Withdrawn string `json:"withdrawn,omitempty"`
	// Binary is the fettle binary that the agent must run; nil means no change.
	Binary *Binary `json:"program,omitempty"`
}

// Assigned is one bundle at one revision.
type Assigned struct {
	Module   string   `json:"module,omitempty"` // the directory: "modules/web"; "" for the root bundle
	Revision Revision `json:"revision"`
	Bundle   Bundle   `json:"bundle"`
	// Proof proves that the bundle has the content of the commit; the commit has its own signature.
	// It is content, like the bundle. nil if no target needs it.
	Proof *Bundle `json:"proof,omitempty"`
	// Permit permits an older commit: the text of a signed statement, followed by its signature.
	Permit string `json:"permit,omitempty"`
	// Rollout, Wave and NotBefore (seconds since 1970) identify the grant of this revision.
	Rollout   string `json:"rollout,omitempty"`
	Wave      string `json:"wave,omitempty"`
	NotBefore int64  `json:"not_before,omitempty"`
	Needs     []Need `json:"needs,omitempty"` // sorted by Module; all of them, including imposed ones
}

// Revision is one commit.
type Revision struct {
	Repository string `json:"repository"` // its name at the hub
	Commit     string `json:"commit"`     // 40 or 64 hex digits
	Time       int64  `json:"time"`       // of the commit, seconds since 1970
	Subject    string `json:"subject,omitempty"`
	Branch     string `json:"branch,omitempty"` // from which it was resolved, for display
	// Signer is the key that signed the commit, SHA256:… as OpenSSH shows it, followed by a mark of
	// the fleets of the commit; "" for none. A hub computed it, for display and to detect equal
	// commits: agents verify the signature themselves.
	Signer string `json:"signer,omitempty"`
}

// Bundle identifies content by the digest of its canonical form.
type Bundle struct {
	Digest string `json:"digest"` // sha256:hex
	Size   int64  `json:"size"`   // bytes
}

// Level is the state that a module must reach before modules that need it may be applied.
type Level string

// Levels of readiness, in increasing order.
const (
	Completed Level = "completion"   // applied without an error once
	Available Level = "availability" // applied, and its checks succeed
	Exact     Level = "version"      // available at the revision that is assigned now
)

// Need is a dependency of one module on another module of the same target.
type Need struct {
	Module string `json:"module"`
	Level  Level  `json:"level"`
	// Layer means that the dependency was imposed from outside: all other modules depend on Module.
	Layer bool `json:"layer,omitempty"`
}

// Marshal returns the canonical form: equal assignments have equal bytes.
func (a Assignment) Marshal() []byte {
	b, err := json.Marshal(a.Written())
	if err != nil {
		panic(err) // all fields can be encoded
	}
	return b
}

// CheckDigest returns an error if a text is not the digest of content.
func CheckDigest(s string) error {
	if hex, ok := strings.CutPrefix(s, "sha256:"); !ok || len(hex) != 64 || !isHex(hex) {
		return fmt.Errorf("cannot read %.80q as a digest: a digest is sha256: and 64 hex digits", s)
	}
	return nil
}

func isCommit(s string) bool { return (len(s) == 40 || len(s) == 64) && isHex(s) }

// isHex is called for each part of each assignment, for which a regular expression is too slow.
func isHex(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// ParseAssignment parses an assignment. Unknown fields are errors.
func ParseAssignment(b []byte) (Assignment, error) {
	if len(b) > MaxAssignment {
		return Assignment{}, fmt.Errorf("cannot read an assignment of %d bytes: the maximum is %d", len(b), MaxAssignment)
	}
	var w AssignmentJSON
	if err := decode(b, &w); err != nil {
		return Assignment{}, fmt.Errorf("cannot read an assignment: %w", err)
	}
	a, err := w.assignment()
	if err != nil {
		return a, err
	}
	return a, a.check()
}

// decode decodes an order. An unknown field could change the meaning of the known fields, so it is
// an error.
func decode(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	return decodeOne(d, v)
}

// decodeReport decodes a report. A newer agent may report more, so unknown fields are ignored.
func decodeReport(b []byte, v any) error { return decodeOne(json.NewDecoder(bytes.NewReader(b)), v) }

func decodeOne(d *json.Decoder, v any) error {
	if err := d.Decode(v); err != nil {
		return err
	}
	if d.More() {
		return errors.New("there is more data after the document")
	}
	return nil
}

func (a Assignment) check() error {
	if err := a.checkOwn(); err != nil {
		return err
	}
	return checkParts(slices.Concat([]Assigned{a.Root}, a.Modules))
}

// checkOwn checks all fields except the root bundle and the modules.
func (a Assignment) checkOwn() error {
	if a.Format != AssignmentFormat {
		return fmt.Errorf("cannot read an assignment of the format %.40q: this version of fettle supports %s", a.Format,
			AssignmentFormat)
	}
	if _, err := ParseTargetID(string(a.Target)); err != nil {
		return err
	}
	if a.Epoch == 0 || a.Generation == 0 {
		return errors.New("cannot accept an assignment without an epoch and a generation")
	}
	if a.Binary != nil {
		if err := a.Binary.Check(); err != nil {
			return err
		}
	}
	if err := window.Check(a.Windows); err != nil {
		return err
	}
	for _, m := range a.Withheld {
		if !isModule(m) {
			return fmt.Errorf("cannot accept an assignment without the module %.80q", m)
		}
	}
	return errors.Join(CheckName(a.Name), CheckLabels(a.Labels), a.Environment.Check(), checkTestsFor(a.TestsFor),
		exported.Check(a.Exported))
}

// checkParts checks the root bundle, which is the first part, and the modules.
func checkParts(parts []Assigned) error {
	seen := make(map[string]bool, len(parts))
	for i, m := range parts {
		if err := m.check(i == 0); err != nil {
			return err
		}
		if seen[m.Module] {
			return fmt.Errorf("cannot accept an assignment that contains %s twice", m.Module)
		}
		seen[m.Module] = true
	}
	return nil
}

func isModule(directory string) bool {
	return strings.HasPrefix(directory, "modules/") && path.Clean(directory) == directory
}

func (m Assigned) check(top bool) error {
	switch {
	case top && m.Module != "" || !top && !isModule(m.Module):
		return fmt.Errorf("cannot accept an assignment of the module %.80q", m.Module)
	case !isCommit(m.Revision.Commit):
		return fmt.Errorf("cannot accept an assignment of the commit %.80q", m.Revision.Commit)
	case m.Bundle.Size < 0:
		return fmt.Errorf("cannot accept a bundle of %d bytes", m.Bundle.Size)
	}
	if m.Proof != nil {
		if m.Proof.Size < 0 {
			return fmt.Errorf("cannot accept a proof of %d bytes", m.Proof.Size)
		}
		if err := CheckDigest(m.Proof.Digest); err != nil {
			return err
		}
	}
	return CheckDigest(m.Bundle.Digest)
}

// AssignmentNumber orders the assignments of a target: first by Epoch, then by Generation.
type AssignmentNumber struct {
	Epoch      uint64 `json:"epoch"`
	Generation uint64 `json:"generation"`
}

// String returns the number in the form for users: "1795456145.2".
func (n AssignmentNumber) String() string { return fmt.Sprintf("%d.%d", n.Epoch, n.Generation) }

// Number returns the epoch and the generation of the assignment.
func (a *Assignment) Number() AssignmentNumber { return AssignmentNumber{a.Epoch, a.Generation} }

// Newer compares the numbers of two assignments: the result is below 0 if a is older than b.
func (a Assignment) Newer(b Assignment) int {
	return cmp.Or(cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(a.Generation, b.Generation))
}

// Same returns true if two assignments differ at most in their numbers and times.
func (a Assignment) Same(b Assignment) bool {
	return a.Format == b.Format && a.Target == b.Target && a.Name == b.Name && a.Fleet == b.Fleet &&
		a.Frozen == b.Frozen && a.Withdrawn == b.Withdrawn &&
		sameBinary(a.Binary, b.Binary) &&
		maps.Equal(a.Labels, b.Labels) && a.Root.same(b.Root) && slices.Equal(a.Windows, b.Windows) &&
		slices.Equal(a.Withheld, b.Withheld) && a.Environment.Same(b.Environment) &&
		SameModules(a.Modules, b.Modules) && SameEnvironments(a.TestsFor, b.TestsFor) &&
		exported.Same(a.Exported, b.Exported)
}

// SameModules returns true if two lists have the same modules at the same revisions, in the same
// order.
func SameModules(a, b []Assigned) bool {
	if len(a) > 0 && len(a) == len(b) && &a[0] == &b[0] {
		return true // the usual case: similar targets share one list
	}
	return slices.EqualFunc(a, b, Assigned.same)
}

func (m Assigned) same(o Assigned) bool {
	return m.Module == o.Module && m.Revision == o.Revision && m.Bundle == o.Bundle && m.Rollout == o.Rollout &&
		m.Wave == o.Wave && m.NotBefore == o.NotBefore &&
		m.Permit == o.Permit && sameBundle(m.Proof, o.Proof) && slices.Equal(m.Needs, o.Needs)
}

func sameBundle(a, b *Bundle) bool { return a == b || a != nil && b != nil && *a == *b }
