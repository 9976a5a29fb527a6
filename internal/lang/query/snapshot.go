package query

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/functions"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
)

// Snapshot is an answer as stored in the repository.
type Snapshot struct {
	Format string          `json:"format"` // fettle.lookup/1
	Source string          `json:"source"`
	Taken  time.Time       `json:"taken"`
	Digest string          `json:"digest"` // of the value, as JSON without blanks
	Value  json.RawMessage `json:"value"`
}

const snapshotFormat = "fettle.lookup/1"

// NewSnapshot makes the snapshot of an answer: text in the lookup's format,
// taken at a time. The same answer gives the same value and digest.
func NewSnapshot(l source.Lookup, answer []byte, taken time.Time) (Snapshot, error) {
	v, err := value(l, answer)
	if err != nil {
		return Snapshot{}, fmt.Errorf("cannot read the answer as %s: %w", l.Format, err)
	}
	text, err := ctyjson.Marshal(v, v.Type())
	if err != nil {
		return Snapshot{}, fmt.Errorf("cannot record the answer: %w", err)
	}
	return Snapshot{snapshotFormat, l.Source(), taken.UTC().Truncate(time.Second), contentDigest(text), text}, nil
}

// value reads an answer with the functions of the language, and so with their
// limits.
func value(l source.Lookup, answer []byte) (cty.Value, error) {
	if ds := append(syntax.TooLarge(answer, l.Name), syntax.Readable(answer, l.Name)...); ds.HasErrors() {
		return cty.NilVal, errors.New(ds[0].Detail)
	}
	text := cty.StringVal(string(answer))
	switch l.Format {
	case "json":
		return functions.Pure()["jsondecode"].Call([]cty.Value{text})
	case "yaml":
		return functions.Pure()["yamldecode"].Call([]cty.Value{text})
	}
	return text, nil
}

func contentDigest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Bytes returns the content of the snapshot file, formatted so that diffs are readable.
func (s Snapshot) Bytes() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(s)
	return b.Bytes(), err
}

// ParseSnapshot reads the file of a snapshot. A snapshot that was modified is an error.
func ParseSnapshot(src []byte) (Snapshot, error) {
	var s Snapshot
	d := json.NewDecoder(bytes.NewReader(src))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return s, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return s, errors.New("there is text after the JSON value")
	}
	if s.Format != snapshotFormat {
		return s, fmt.Errorf("its format is %q, and this version of fettle reads %q", s.Format, snapshotFormat)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, s.Value); err != nil {
		return s, err
	}
	if contentDigest(compact.Bytes()) != s.Digest {
		return s, errors.New("its value was modified after it was recorded")
	}
	return s, nil
}

// ReadLookup returns the value of a lookup's snapshot.
func ReadLookup(l *source.CachedLookup, f *source.Directory, file string) (cty.Value, diag.List) {
	refresh := "Run: fettle lookup refresh " + l.Name + ". It queries " + l.Source() + " and writes " + l.Snapshot() +
		". Commit this file."
	src, err := f.ReadFile(file)
	if err != nil {
		return cty.NilVal, diag.List{diag.Errorf(l.Range, "Lookup has no snapshot",
			"The value of the lookup %q is read from its snapshot, a file of the repository, which cannot be read: "+
				"%s %s", l.Name, syntax.Sentence(err), refresh)}
	}
	at := diag.Range{File: l.Snapshot()}
	if ds := append(syntax.TooLarge(src, at.File), syntax.Readable(src, at.File)...); ds.HasErrors() {
		return cty.NilVal, ds
	}
	s, err := ParseSnapshot(src)
	if err == nil {
		err = functions.CheckDepth(string(s.Value))
	}
	switch {
	case err != nil:
		return cty.NilVal, diag.List{diag.Errorf(at, "Bad snapshot", "The snapshot of the lookup %q cannot be used: %s %s",
			l.Name, syntax.Sentence(err), refresh)}
	case s.Source != l.Source():
		return cty.NilVal, diag.List{diag.Errorf(l.Range, "Snapshot of a different source",
			"The snapshot %s was recorded from %s, and the lookup now reads %s. %s", at.File, s.Source, l.Source(), refresh)}
	}
	typ, err := ctyjson.ImpliedType(s.Value)
	if err == nil {
		var v cty.Value
		if v, err = ctyjson.Unmarshal(s.Value, typ); err == nil {
			return v, nil
		}
	}
	return cty.NilVal, diag.List{diag.Errorf(at, "Bad snapshot", "The snapshot of the lookup %q cannot be used: %s %s",
		l.Name, syntax.Sentence(err), refresh)}
}
