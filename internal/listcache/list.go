package listcache

import (
	"bytes"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"encoding/json"
	"errors"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/step"
)

// Key is all that a list depends on. Facts are all that are known; only those
// that the repository declares count.
type Key struct {
	Program string // names this build of fettle, not only its release
	Tree    string // digest of the repository's content
	Prefix  string // folder in the repository whose lists these are
	Target  string // as compile.Input has it
	Vars    map[string]string
	Facts   map[string]cty.Value
}

// entry is what is kept: exported for encoding/gob.
type entry struct {
	Inputs    string // digest of the key without its facts
	FactsUsed []string
	Facts     string // digest of the facts used
	Rest      []byte // the result without list and blobs, as JSON: it keeps every field
	List      []byte // with sources
	Blobs     []blob
}

type blob struct {
	Digest string
	Size   int64
	Inline bool
	Data   []byte
	Path   string // in the tree
}

var errForeign = errors.New("cannot keep this list: it has content from outside of the repository")

// inputs is the digest of what is known before anything is compiled.
func (k Key) inputs() (string, error) {
	k.Facts = nil
	b, err := json.Marshal(k) // sorts the variables
	return digest(b), err
}

// facts is the digest of the facts with these names. A fact that is not known
// counts as such.
func (k Key) facts(names []string) (string, error) {
	used := map[string]json.RawMessage{}
	for _, n := range names {
		v, ok := k.Facts[n]
		if !ok {
			continue
		}
		typ, err := ctyjson.MarshalType(v.Type())
		if err != nil {
			return "", err
		}
		text, err := ctyjson.Marshal(v, v.Type())
		if err != nil {
			return "", err
		}
		used[n] = json.RawMessage("[" + string(typ) + "," + string(text) + "]")
	}
	b, err := json.Marshal(used)
	return digest(b), err
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// slot is where the list of a target stands: a new commit takes the old one's
// place.
func (k Key) slot() string { return "list\x00" + k.Prefix + "\x00" + k.Target }

// List gives what Keep kept for the same inputs. Content that is not inline is
// read from tree, which must be the one that Key.Tree names.
func (d Dir) List(tree repo.Tree, k Key) (compile.Result, bool) {
	var e entry
	if err := gob.NewDecoder(bytes.NewReader(d.Load(k.slot()))).Decode(&e); err != nil {
		return compile.Result{}, false
	}
	inputs, err := k.inputs()
	if err != nil || inputs != e.Inputs {
		return compile.Result{}, false
	}
	if facts, err := k.facts(e.FactsUsed); err != nil || facts != e.Facts {
		return compile.Result{}, false
	}
	return e.result(tree)
}

func (e entry) result(tree repo.Tree) (compile.Result, bool) {
	list, ds := step.Parse("list", e.List)
	if len(ds) > 0 {
		return compile.Result{}, false
	}
	for i := range list {
		list[i].Written, list[i].Range = "", diag.Range{}
	}
	var res compile.Result
	if err := json.Unmarshal(e.Rest, &res); err != nil {
		return compile.Result{}, false
	}
	res.List, res.Blobs = list, make(map[string]kind.Blob, len(e.Blobs))
	for _, b := range e.Blobs {
		k := kind.Blob{Digest: b.Digest, Size: b.Size, Data: b.Data}
		if !b.Inline {
			k.Tree, k.Path = tree, b.Path
		}
		res.Blobs[b.Digest] = k
	}
	return res, true
}

// Keep keeps a result that compiled without a diagnostic. The error tells why
// it could not be kept; the result is as good.
func (d Dir) Keep(tree repo.Tree, k Key, res compile.Result) error {
	e := entry{FactsUsed: res.FactsUsed}
	var err error
	if e.Inputs, err = k.inputs(); err != nil {
		return err
	}
	if e.Facts, err = k.facts(res.FactsUsed); err != nil {
		return err
	}
	for _, b := range res.Blobs {
		if b.Tree != nil && b.Tree != tree {
			return errForeign
		}
		e.Blobs = append(e.Blobs, blob{b.Digest, b.Size, b.Tree == nil, b.Data, b.Path})
	}
	rest := res
	rest.List, rest.Blobs = nil, nil
	if e.Rest, err = json.Marshal(rest); err != nil {
		return err
	}
	var text, out bytes.Buffer
	if err := step.Print(&text, res.List, step.PrintOptions{Source: true}); err != nil {
		return err
	}
	e.List = text.Bytes()
	if err := gob.NewEncoder(&out).Encode(e); err != nil {
		return err
	}
	return d.Save(k.slot(), out.Bytes())
}
