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
)

// AssignmentFormat is the format that this program writes and reads.
const AssignmentFormat = "fettle.assignment/2"

// MaxAssignment bounds an assignment as it travels, in bytes.
const MaxAssignment = 1 << 20

// Assignment is all that a target is to be: the one object that a fleet keeps for it.
// It is immutable once it is signed.
type Assignment struct {
	Format     string   `json:"format"`
	Target     TargetID `json:"target"`
	Name       string   `json:"name"` // the target's, which is what is compiled
	Epoch      uint64   `json:"epoch"`
	Generation uint64   `json:"generation"`
	Issued     int64    `json:"issued"` // seconds since 1970, by the hub
	// Labels and Fleet are the target's, as the catalog sees them.
	Labels map[string]string `json:"labels,omitempty"`
	Fleet  string            `json:"fleet,omitempty"`
	// Top is everything of the repository that is no module.
	Top Assigned `json:"top"`
	// Modules are in the order in which the catalog has them, each once.
	Modules []Assigned `json:"modules"`
	// Exported are the values of other targets that its modules ask for: a table for each
	// output that they name, sorted.
	Exported []exported.Table `json:"exported,omitempty"`
	// Frozen keeps the agent from applying; the reason is for people.
	Frozen string `json:"frozen,omitempty"`
	// Withdrawn is why the hub gives nothing to a target that it has suspended.
	Withdrawn string `json:"withdrawn,omitempty"`
	// Program is the program that the agent is to be; nil leaves it the one that it is.
	Binary *Binary `json:"program,omitempty"`
}

// Assigned is one bundle at one revision.
type Assigned struct {
	Module   string   `json:"module,omitempty"` // the directory: "modules/web"; "" for the top
	Revision Revision `json:"revision"`
	Bundle   Bundle   `json:"bundle"`
	// Proof says that the bundle is of the commit; the signature is the commit's
	// own. It is content as the bundle is. None where nobody asks for one.
	Proof *Bundle `json:"proof,omitempty"`
	// Permit is the way back to an older commit, signed by a believed key: the text
	// of its statement with the signature behind it.
	Permit string `json:"permit,omitempty"`
	// Rollout, Wave and NotBefore (seconds since 1970) say which grant this is.
	Rollout   string `json:"rollout,omitempty"`
	Wave      string `json:"wave,omitempty"`
	NotBefore int64  `json:"not_before,omitempty"`
	Needs     []Need `json:"needs,omitempty"` // sorted by Module; all of them, imposed ones too
}

// Revision is a commit, exactly.
type Revision struct {
	Repository string `json:"repository"` // the name that the hub knows it by
	Commit     string `json:"commit"`     // 40 or 64 hex digits
	Time       int64  `json:"time"`       // of the commit, seconds since 1970
	Subject    string `json:"subject,omitempty"`
	Branch     string `json:"branch,omitempty"` // from which it was resolved, for people
	// Signer is the key that signed the commit, SHA256:… as OpenSSH shows it, with a mark of
	// the fleets that the commit is for behind it; "" for none. It is what a hub read, for people and for what stays: agents check it themselves.
	Signer string `json:"signer,omitempty"`
}

// Bundle is content by the digest of its canonical form.
type Bundle struct {
	Digest string `json:"digest"` // sha256:hex
	Size   int64  `json:"size"`   // bytes
}

// Level is how far a module has to be before one that needs it may go on.
type Level string

// Levels of readiness, rising.
const (
	Completed Level = "completion"   // applied without an error once
	Available Level = "availability" // applied, and its checks hold
	Exact     Level = "version"      // available at the revision that is assigned now
)

// Need is a dependence of one module on another of the same target.
type Need struct {
	Module string `json:"module"`
	Level  Level  `json:"level"`
	// Layer says that it was imposed from outside: all others depend on Module.
	Layer bool `json:"layer,omitempty"`
}

// Marshal is the canonical form: the same assignment has the same bytes.
func (a Assignment) Marshal() []byte {
	b, err := json.Marshal(a.Written())
	if err != nil {
		panic(err) // there is nothing in it that has no JSON
	}
	return b
}

// CheckDigest says whether a text is the digest of content.
func CheckDigest(s string) error {
	if hex, ok := strings.CutPrefix(s, "sha256:"); !ok || len(hex) != 64 || !isHex(hex) {
		return fmt.Errorf("cannot read %.80q as a digest: it is sha256: and 64 hex digits", s)
	}
	return nil
}

func isCommit(s string) bool { return (len(s) == 40 || len(s) == 64) && isHex(s) }

// isHex is asked about each part of each assignment, for which a regular expression is
// too dear.
func isHex(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// ParseAssignment reads one strictly: what this program does not know is refused.
func ParseAssignment(b []byte) (Assignment, error) {
	if len(b) > MaxAssignment {
		return Assignment{}, fmt.Errorf("cannot read an assignment of %d bytes: %d are the most", len(b), MaxAssignment)
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

// decode reads an order: a field that this program does not know could change the meaning of
// the known fields.
func decode(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	return decodeOne(d, v)
}

// decodeReport reads what reports something. A newer end may report more, which is ignored.
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
	return checkParts(slices.Concat([]Assigned{a.Top}, a.Modules))
}

// checkOwn is about what is neither top nor module.
func (a Assignment) checkOwn() error {
	if a.Format != AssignmentFormat {
		return fmt.Errorf("cannot read an assignment of the format %.40q: this program knows %s", a.Format, AssignmentFormat)
	}
	if _, err := ParseTargetID(string(a.Target)); err != nil {
		return err
	}
	if a.Epoch == 0 || a.Generation == 0 {
		return errors.New("cannot take an assignment without epoch and generation")
	}
	if a.Binary != nil {
		if err := a.Binary.Check(); err != nil {
			return err
		}
	}
	return errors.Join(CheckName(a.Name), CheckLabels(a.Labels), exported.Check(a.Exported))
}

// checkParts is about the top, which is the first, and the modules.
func checkParts(parts []Assigned) error {
	seen := make(map[string]bool, len(parts))
	for i, m := range parts {
		if err := m.check(i == 0); err != nil {
			return err
		}
		if seen[m.Module] {
			return fmt.Errorf("cannot take an assignment that has %s twice", m.Module)
		}
		seen[m.Module] = true
	}
	return nil
}

func (m Assigned) check(top bool) error {
	inModules := strings.HasPrefix(m.Module, "modules/") && path.Clean(m.Module) == m.Module
	switch {
	case top && m.Module != "" || !top && !inModules:
		return fmt.Errorf("cannot take an assignment of the module %.80q", m.Module)
	case !isCommit(m.Revision.Commit):
		return fmt.Errorf("cannot take an assignment of the commit %.80q", m.Revision.Commit)
	case m.Bundle.Size < 0:
		return fmt.Errorf("cannot take a bundle of %d bytes", m.Bundle.Size)
	}
	if m.Proof != nil {
		if m.Proof.Size < 0 {
			return fmt.Errorf("cannot take a proof of %d bytes", m.Proof.Size)
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

// String is as people see it, "1795456145.2".
func (n AssignmentNumber) String() string { return fmt.Sprintf("%d.%d", n.Epoch, n.Generation) }

// Number is the assignment's.
func (a *Assignment) Number() AssignmentNumber { return AssignmentNumber{a.Epoch, a.Generation} }

// Newer compares the order of two assignments: below 0 when a is older than b.
func (a Assignment) Newer(b Assignment) int {
	return cmp.Or(cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(a.Generation, b.Generation))
}

// Same tells whether two assignments want the same of their target, whatever their
// numbers and times are.
func (a Assignment) Same(b Assignment) bool {
	return a.Format == b.Format && a.Target == b.Target && a.Name == b.Name && a.Fleet == b.Fleet && a.Frozen == b.Frozen && a.Withdrawn == b.Withdrawn &&
		sameBinary(a.Binary, b.Binary) &&
		maps.Equal(a.Labels, b.Labels) && a.Top.same(b.Top) && SameModules(a.Modules, b.Modules) && exported.Same(a.Exported, b.Exported)
}

// SameModules tells whether two lists are the same modules at the same revisions, in the
// same order.
func SameModules(a, b []Assigned) bool {
	if len(a) > 0 && len(a) == len(b) && &a[0] == &b[0] {
		return true // most often: targets that are alike share one list
	}
	return slices.EqualFunc(a, b, Assigned.same)
}

func (m Assigned) same(o Assigned) bool {
	return m.Module == o.Module && m.Revision == o.Revision && m.Bundle == o.Bundle && m.Rollout == o.Rollout && m.Wave == o.Wave && m.NotBefore == o.NotBefore &&
		m.Permit == o.Permit && sameBundle(m.Proof, o.Proof) && slices.Equal(m.Needs, o.Needs)
}

func sameBundle(a, b *Bundle) bool { return a == b || a != nil && b != nil && *a == *b }
