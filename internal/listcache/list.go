package listcache

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/step"
)

// Key contains all inputs of a list. Facts are all known facts; only the facts that the repository
// declares count.
type Key struct {
	Program string // identifies this build of fettle, not only its release
	Tree    string // digest of the repository's content
	Prefix  string // directory of the repository that contains the configuration
	Target  string // as in compile.Input
	Vars    map[string]string
	Facts   map[string]cty.Value
	// Outputs are the known outputs of commands. Lists with a different number of outputs have
	// different files, because one plan can need several of them.
	Outputs map[addr.Addr]string
}

// Kept is a cached list. Its other parts are in a second file, which Result reads.
type Kept struct {
	Target string
	List   string // its digest
	Policy catalog.Policy
	// Outputs and Deferred are those fields of the result.
	Outputs  []compile.Output
	Deferred []compile.Deferred

	key Key
	of  inputs
}

// inputs are the digests of the inputs of a list. Both of its files contain them.
type inputs struct {
	Known string // digest of the key without its facts
	Facts string // digest of the facts used
}

// note is the content of the first file.
type note struct {
	inputs
	FactsUsed []string
	Target    string
	List      string
	Policy    catalog.Policy
	Outputs   []compile.Output
	Deferred  []compile.Deferred
}

var (
	errForeign = errors.New("cannot cache this list: it contains content from outside of the repository")
	errGone    = errors.New("cannot read the cached list: it no longer exists")
)

// known returns the digest of the inputs that are known before compiling.
func (k Key) known() (string, error) {
	k.Facts = nil
	b, err := json.Marshal(k) // JSON sorts the variables
	return digest(b), err
}

// facts returns the digest of the facts with these names. An unknown fact counts as unknown.
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

// slot returns the name of the file for the list of a target. A new commit replaces the file of the
// earlier commit.
func (k Key) slot() string {
	s := "list\x00" + k.Prefix + "\x00" + k.Target
	if n := len(k.Outputs); n > 0 {
		s += "\x00known " + strconv.Itoa(n)
	}
	return s
}

// body returns the name of the second file.
func (k Key) body() string { return k.slot() + "\x00body" }

// inputs returns the digests of the inputs of a list that uses these facts.
func (k Key) inputs(factsUsed []string) (of inputs, err error) {
	if of.Known, err = k.known(); err == nil {
		of.Facts, err = k.facts(factsUsed)
	}
	return of, err
}

// Find returns the list that Keep stored for the same inputs.
func (d Dir) Find(k Key) (*Kept, bool) {
	var n note
	if err := json.Unmarshal(d.Load(k.slot()), &n); err != nil {
		return nil, false
	}
	if of, err := k.inputs(n.FactsUsed); err != nil || of != n.inputs {
		return nil, false
	}
	return &Kept{Target: n.Target, List: n.List, Policy: n.Policy, Outputs: n.Outputs, Deferred: n.Deferred, key: k,
		of: n.inputs}, true
}

// Result reads the complete list that Find returned. Content that is not inline is read from tree,
// which must be the tree of Key.Tree. After an error, the caller must compile the list.
func (d Dir) Result(k *Kept, tree repo.Tree) (compile.Result, error) {
	b := d.Load(k.key.body())
	var parts [4][]byte // inputs, other parts of the result, list, table of blobs
	for i := range parts {
		var ok bool
		if parts[i], b, ok = cutText(b); !ok {
			return compile.Result{}, errGone
		}
	}
	var of inputs
	if err := json.Unmarshal(parts[0], &of); err != nil || of != k.of {
		return compile.Result{}, errGone
	}
	var res compile.Result
	if err := json.Unmarshal(parts[1], &res); err != nil {
		return compile.Result{}, errGone
	}
	var ds diag.List
	if res.List, ds = step.Parse("list", parts[2]); len(ds) > 0 {
		return compile.Result{}, errGone
	}
	for i := range res.List {
		res.List[i].Written, res.List[i].Range = "", diag.Range{}
	}
	var ok bool
	if res.Blobs, ok = readTable(parts[3], tree); !ok {
		return compile.Result{}, errGone
	}
	return res, nil
}

// Keep stores a result without diagnostics. An error does not affect the result itself.
func (d Dir) Keep(tree repo.Tree, k Key, res compile.Result) error {
	of, err := k.inputs(res.FactsUsed)
	if err != nil {
		return err
	}
	blobs, err := table(tree, res.Blobs)
	if err != nil {
		return err
	}
	rest := res
	rest.List, rest.Blobs = nil, nil
	var text bytes.Buffer
	if err := step.Print(&text, res.List, step.PrintOptions{Source: true}); err != nil {
		return err
	}
	inputs, err := json.Marshal(of)
	if err != nil {
		return err
	}
	more, err := json.Marshal(rest)
	if err != nil {
		return err
	}
	var body []byte
	for _, part := range [][]byte{inputs, more, text.Bytes(), blobs} {
		body = appendText(body, part)
	}
	first, err := json.Marshal(note{of, res.FactsUsed, res.Target, res.List.Digest(), res.Policy, res.Outputs,
		res.Deferred})
	if err != nil {
		return err
	}
	if err := d.Save(k.body(), body); err != nil {
		return err
	}
	return d.Save(k.slot(), first)
}
