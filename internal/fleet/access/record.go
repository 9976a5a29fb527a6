package access

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/fleet"
)

// auditFormat is the format of records.
const auditFormat = "fettle.audit/1"

// maxRecord limits a record, in bytes.
const maxRecord = 64 << 10

// Common outcomes. Other outcomes are the text of an error.
const (
	Begun  = "begun" // written before the operation
	Done   = "done"
	Denied = "denied"
)

// Entry describes an operation of a user. It contains no secrets.
type Entry struct {
	User       string `json:"who"`
	Credential string `json:"how,omitempty"` // the kind of credential
	Operation  string `json:"what"`          // "POST /v1/targets/{target}/pin", "enrol"
	Object     string `json:"on,omitempty"`
	Outcome    string `json:"outcome"`
	Reason     string `json:"reason,omitempty"`
	From       string `json:"from,omitempty"` // the address
	Request    string `json:"request,omitempty"`
	// Organization is the organization of the user, and Of the organization of the object, both at the time of the record;
	// "" is the whole fleet, or not known.
	Organization fleet.Organization `json:"organization,omitempty"`
	Of           fleet.Organization `json:"of,omitempty"`
}

// Within reports whether a record belongs to an organization: its user or its object does.
func (e Entry) Within(of fleet.Organization) bool {
	return e.Organization != "" && of.Contains(e.Organization) || e.Of != "" && of.Contains(e.Of)
}

// For returns what users of an organization see of a record. If the user of the record is not in the organization, this
// is the name, the operation, the object and whether it succeeded. Other texts can contain names of others.
func (e Entry) For(of fleet.Organization) Entry {
	if e.Organization != "" && of.Contains(e.Organization) {
		return Entry{User: e.User, Credential: e.Credential, Operation: e.Operation, Object: e.Object, Outcome: e.Outcome,
			Reason: e.Reason, From: e.From}
	}
	out := Entry{User: e.User, Operation: e.Operation, Object: e.Object, Outcome: e.Outcome}
	if out.Outcome != Begun && out.Outcome != Done && out.Outcome != Denied {
		out.Outcome = "failed"
	}
	return out
}

// Record is an entry in a chain.
type Record struct {
	Format string `json:"format"`
	Chain  string `json:"chain"` // the name of the hub
	Seq    uint64 `json:"seq"`   // from 1, without gaps
	At     int64  `json:"at"`    // ns since 1970
	Entry
	Prev string `json:"prev"`           // the hash of the previous record, "" for the first
	Hash string `json:"hash,omitempty"` // sha256 in hex of the record without this field
}

// Head is the end of a chain. With a stored head, a truncation is detected.
type Head struct {
	Chain string `json:"chain"`
	Seq   uint64 `json:"seq"`
	Hash  string `json:"hash"`
}

// after returns the record of an entry after a head.
func (e Entry) after(h Head, at int64) Record {
	r := Record{Format: auditFormat, Chain: h.Chain, Seq: h.Seq + 1, At: at, Entry: e.text(), Prev: h.Hash}
	r.Hash = r.sum()
	return r
}

// text replaces invalid UTF-8, which would change when the record is read again.
func (e Entry) text() Entry {
	for _, s := range []*string{&e.User, &e.Credential, &e.Operation, &e.Object, &e.Outcome, &e.Reason, &e.From,
		&e.Request} {
		*s = strings.ToValidUTF8(*s, "?")
	}
	return e
}

func (r Record) sum() string {
	r.Hash = ""
	sum := sha256.Sum256(r.marshal())
	return hex.EncodeToString(sum[:])
}

// marshal returns the canonical form: equal records have equal bytes.
func (r Record) marshal() []byte {
	b, err := json.Marshal(r)
	if err != nil {
		panic(err) // all fields have a JSON form
	}
	return b
}

func (r Record) head() Head { return Head{r.Chain, r.Seq, r.Hash} }

// ParseRecord reads a record. It returns an error if the record is not in its canonical form or has
// a wrong hash, because then it was edited.
func ParseRecord(b []byte) (Record, error) {
	if len(b) > maxRecord {
		return Record{}, fmt.Errorf("cannot read a record of the audit log of %d bytes: %d are the most", len(b), maxRecord)
	}
	var r Record
	if err := json.Unmarshal(b, &r); err != nil {
		return Record{}, fmt.Errorf("cannot read a record of the audit log: %w", err)
	}
	if r.Format != auditFormat {
		return r, fmt.Errorf("cannot read a record of the audit log of the format %.40q: this version of fettle reads %s",
			r.Format, auditFormat)
	}
	if !bytes.Equal(r.marshal(), b) || r.Hash != r.sum() {
		return r, errors.New("cannot verify a record of the audit log: it was changed after it was written")
	}
	return r, nil
}
