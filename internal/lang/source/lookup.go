package source

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/duration"
	"fettle.dev/fettle/internal/lang/functions"
	"fettle.dev/fettle/internal/lang/syntax"
)

// Snapshot is the repository path of the file that holds the answer.
func (l Lookup) Snapshot() string { return path.Join(l.Directory, "lookups", l.Name+".json") }

// Source returns the query in one line.
func (l Lookup) Source() string {
	if l.URL != "" {
		return l.Format + " " + l.URL
	}
	words, _ := json.Marshal(l.Command) // of texts
	return l.Format + " " + string(words)
}

// lookup reads a lookup block. Its query is a constant text, because it is evaluated before any
// target is known.
func (ps *parser) lookup(b *hclsyntax.Block) {
	name, r, ok := ps.label(b)
	if !ok {
		return
	}
	ps.only(b, []string{"url", "command", "format", "max_age", "timeout", "description"}, nil)
	known := ps.body.Directory.Lookups
	switch {
	case ps.in != nil:
		ps.Errorf(r, "Lookup inside a define",
			"Declare the lookup in the module, outside of the define block. The kind can use it there.")
		return
	case !hclsyntax.ValidIdentifier(name):
		ps.Errorf(r, "Bad name for a lookup",
			"%q is not a valid name. Use letters, digits, _ and -, and begin with a letter.", name)
		return
	case known[name] != nil:
		ps.Errorf(r, "Lookup declared twice",
			"The lookup %q is already declared at %s. Rename or remove one of the two.", name, known[name].Range)
		return
	}
	at := b.Body.Attributes
	l := &CachedLookup{Lookup: Lookup{Name: name, Directory: ps.body.Directory.Path, Format: "json", Range: r}}
	if (at["url"] == nil) == (at["command"] == nil) {
		ps.Errorf(r, "Lookup without a source", `Set either url = "https://…" or command = ["…"].`)
		return
	}
	if a := at["url"]; a != nil {
		l.URL = ps.text(a.Expr, "url")
		if err := CheckURL(l.URL); err != nil && l.URL != "" {
			ps.Errorf(syntax.RangeOf(a.Expr.Range()), "Bad URL", "%s", syntax.Sentence(err))
		}
	}
	if a := at["command"]; a != nil {
		l.Command = ps.words(a)
	}
	if a := at["format"]; a != nil {
		if l.Format = ps.text(a.Expr, "format"); l.Format != "json" && l.Format != "yaml" && l.Format != "text" {
			ps.Errorf(syntax.RangeOf(a.Expr.Range()), "Unknown format", "format must be json, yaml or text.")
		}
	}
	l.MaxAge, l.Timeout = ps.duration(at["max_age"]), ps.duration(at["timeout"])
	known[name] = l
}

// words returns a list of constant strings.
func (ps *parser) words(a *hclsyntax.Attribute) []string {
	exprs, hds := hcl.ExprList(a.Expr)
	ps.Add(syntax.FromHCL(hds)...)
	var out []string
	for _, e := range exprs {
		out = append(out, ps.text(e.(hclsyntax.Expression), a.Name))
	}
	if len(out) == 0 || out[0] == "" {
		ps.Errorf(syntax.RangeOf(a.Expr.Range()), "Empty command",
			`The command is empty. Write the program and its arguments: ["getent", "passwd"].`)
	}
	return out
}

func (ps *parser) duration(a *hclsyntax.Attribute) time.Duration {
	if a == nil {
		return 0
	}
	text := ps.text(a.Expr, a.Name)
	d, err := duration.Parse(text)
	switch {
	case err != nil:
		ps.Errorf(syntax.RangeOf(a.Expr.Range()), "Invalid duration", "The attribute %s: %s.", a.Name, err)
	case d <= 0:
		ps.Errorf(syntax.RangeOf(a.Expr.Range()), "Invalid duration", "The attribute %s must be longer than 0s.", a.Name)
	}
	return d
}

// CheckURL refuses URLs that a lookup must not use: schemes other than http and https, and
// passwords, which every reader of the repository could read.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return fmt.Errorf("cannot read the URL %q: write it like https://example.org/users.json", text)
	case u.Scheme != "https" && u.Scheme != "http" || u.Host == "":
		return fmt.Errorf("cannot query %q: a URL must begin with https:// or http:// and a host", text)
	case u.User != nil:
		return fmt.Errorf(
			"cannot query %q: it contains a name or password, which must not be stored in the repository; "+
				"use a command that reads the password elsewhere", u.Redacted())
	}
	return nil
}

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
func NewSnapshot(l Lookup, answer []byte, taken time.Time) (Snapshot, error) {
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
func value(l Lookup, answer []byte) (cty.Value, error) {
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

// Read reads the snapshot in the directory of the lookup, once. It reports whether Value can be used; otherwise, Errors
// has the reason.
func (l *CachedLookup) Read(f *Directory) bool {
	if !l.Done {
		l.Done = true
		l.Value, l.Errors = readLookup(l, f, path.Join("lookups", l.Name+".json"))
	}
	return !l.Errors.HasErrors()
}

func readLookup(l *CachedLookup, f *Directory, file string) (cty.Value, diag.List) {
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
