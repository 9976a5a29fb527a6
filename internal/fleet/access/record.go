package access

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// auditFormat is the format that this program writes and reads.
const auditFormat = "fettle.audit/1"

// maxRecord bounds one record, in bytes.
const maxRecord = 64 << 10

// Outcomes that many entries share; others say in a few words what went wrong.
const (
	Begun  = "begun" // written before the act
	Done   = "done"
	Denied = "denied"
)

// Entry is what somebody did, for the audit log. It holds no secret.
type Entry struct {
	Who     string `json:"who"`
	How     string `json:"how,omitempty"` // they proved it
	What    string `json:"what"`          // "POST /v1/targets/{target}/pin", "enrol"
	On      string `json:"on,omitempty"`
	Outcome string `json:"outcome"`
	Reason  string `json:"reason,omitempty"`
	From    string `json:"from,omitempty"` // the address
	Request string `json:"request,omitempty"`
}

// Record is an entry in its chain.
type Record struct {
	Format string `json:"format"`
	Chain  string `json:"chain"` // of one hub
	Seq    uint64 `json:"seq"`   // from 1, without a gap
	At     int64  `json:"at"`    // ns since 1970
	Entry
	Prev string `json:"prev"`           // the hash of the one before, "" for the first
	Hash string `json:"hash,omitempty"` // sha256 in hex of the record without this field
}

// Head is how far a chain goes. Whoever keeps one sees when its end is cut off.
type Head struct {
	Chain string `json:"chain"`
	Seq   uint64 `json:"seq"`
	Hash  string `json:"hash"`
}

// after is the record of an entry behind a head.
func (e Entry) after(h Head, at int64) Record {
	r := Record{Format: auditFormat, Chain: h.Chain, Seq: h.Seq + 1, At: at, Entry: e.text(), Prev: h.Hash}
	r.Hash = r.sum()
	return r
}

// text is the entry without bytes that are no text: they would be others when read.
func (e Entry) text() Entry {
	for _, s := range []*string{&e.Who, &e.How, &e.What, &e.On, &e.Outcome, &e.Reason, &e.From, &e.Request} {
		*s = strings.ToValidUTF8(*s, "?")
	}
	return e
}

func (r Record) sum() string {
	r.Hash = ""
	sum := sha256.Sum256(r.marshal())
	return hex.EncodeToString(sum[:])
}

// marshal is the canonical form: the same record has the same bytes.
func (r Record) marshal() []byte {
	b, err := json.Marshal(r)
	if err != nil {
		panic(err) // there is nothing in it that has no JSON
	}
	return b
}

func (r Record) head() Head { return Head{r.Chain, r.Seq, r.Hash} }

// ParseRecord reads a record that is in its canonical form and has its own hash.
// Anything else was edited.
func ParseRecord(b []byte) (Record, error) {
	if len(b) > maxRecord {
		return Record{}, fmt.Errorf("cannot read a record of the audit log of %d bytes: %d are the most", len(b), maxRecord)
	}
	var r Record
	if err := json.Unmarshal(b, &r); err != nil {
		return Record{}, fmt.Errorf("cannot read a record of the audit log: %w", err)
	}
	if r.Format != auditFormat {
		return r, fmt.Errorf("cannot read a record of the audit log of the format %.40q: this program knows %s", r.Format, auditFormat)
	}
	if !bytes.Equal(r.marshal(), b) || r.Hash != r.sum() {
		return r, errors.New("cannot believe a record of the audit log: it is not as it was written")
	}
	return r, nil
}
