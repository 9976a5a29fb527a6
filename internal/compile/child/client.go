package child

import (
	"encoding/json"
	"io"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind/generator"
	"fettle.dev/fettle/internal/lang/eval"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/schema"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/repo"
)

// Client is the holder's end: it sends questions about one repository to one child. After an error
// of a method it must not be used again. It is not safe for concurrent use.
type Client struct {
	conn    conn
	tree    repo.Tree
	secrets secrets
	before  side // the previous revision, after the first question about it
}

// side is a tree with its secrets.
type side struct {
	tree    repo.Tree
	secrets secrets
}

// Connect sends the names of a tree to a child whose output is r and whose
// input is w.
func Connect(r io.Reader, w io.Writer, tree repo.Tree) (*Client, error) {
	c := &Client{conn: conn{r, w}, tree: tree}
	return c, c.conn.send(kindTree, index(tree))
}

// Open makes the secrets of a vault available to the child's requests. Without a vault each secret
// is a placeholder.
func (c *Client) Open(v Vault) { c.secrets.vault = v }

// Knows reports whether the child received a secret, which can then be part of any of its output.
func (c *Client) Knows() bool { return len(c.secrets.used) > 0 }

// Compile is compile.Compile in the child. The input's tree is ignored; the client's tree is used.
// The error means that the child failed, not that the configuration has errors.
func (c *Client) Compile(in compile.Input) (compile.Result, diag.List, error) {
	c.secrets.must = in.NeedSecrets
	r, err := c.ask(question{ask: askCompile, in: in})
	c.secrets.must = false
	if err != nil {
		return compile.Result{}, nil, err
	}
	ds := r.diags()
	if r.err != nil || ds.HasErrors() {
		return compile.Result{}, ds, r.end()
	}
	res := readResult(r, c.tree)
	if err := r.end(); err != nil {
		return compile.Result{}, nil, err
	}
	if res.Secrets, err = c.secrets.bundle(res.List); err != nil {
		return compile.Result{}, nil, err
	}
	return res, ds, nil
}

// Targets is compile.Targets. The ssh settings of the result are always valid, because the client
// checks them.
func (c *Client) Targets() ([]query.Target, diag.List, error) {
	r, err := c.ask(question{ask: askTargets})
	if err != nil {
		return nil, nil, err
	}
	ds, list := r.diags(), readTargets(r)
	return list, ds, r.end()
}

// EmptyGroups is compile.Repository.EmptyGroups.
func (c *Client) EmptyGroups() ([]query.Target, diag.List, error) {
	r, err := c.ask(question{ask: askEmptyGroups})
	if err != nil {
		return nil, nil, err
	}
	ds, list := r.diags(), readTargets(r)
	return list, ds, r.end()
}

// Tests is compile.Repository.Tests.
func (c *Client) Tests() ([]string, diag.List, error) {
	r, err := c.ask(question{ask: askTests})
	if err != nil {
		return nil, nil, err
	}
	ds, ids := r.diags(), r.texts()
	return ids, ds, r.end()
}

// RunTest is compile.Repository.RunTest.
func (c *Client) RunTest(id string) (compile.Verdict, error) {
	r, err := c.ask(question{ask: askTest, name: id})
	if err != nil {
		return compile.Verdict{}, err
	}
	v := compile.Verdict{ID: id, Failures: r.diags(), Range: r.rng(), Golden: r.text(), List: r.text()}
	return v, r.end()
}

// Variables is compile.Explain.
func (c *Client) Variables(in compile.Input, name string) ([]eval.Explained, diag.List, error) {
	r, err := c.ask(question{ask: askVariables, in: in, name: name})
	if err != nil {
		return nil, nil, err
	}
	ds, list := r.diags(), readVariables(r)
	return list, ds, r.end()
}

// Schema is compile.Repository.Schema. The result is always a JSON document, because the client
// checks it.
func (c *Client) Schema(part schema.Part) ([]byte, diag.List, error) {
	r, err := c.ask(question{ask: askSchema, name: string(part)})
	if err != nil {
		return nil, nil, err
	}
	ds, text := r.diags(), r.bytes()
	if err := r.end(); err != nil {
		return nil, nil, err
	}
	if !ds.HasErrors() && !json.Valid(text) {
		return nil, nil, nonsense("a schema that is not a JSON document")
	}
	return text, ds, nil
}

// OwnKinds is compile.Repository.OwnKinds, with the fields that documentation needs.
func (c *Client) OwnKinds() ([]query.OwnKind, diag.List, error) {
	r, err := c.ask(question{ask: askKinds})
	if err != nil {
		return nil, nil, err
	}
	ds, list := r.diags(), readKinds(r)
	return list, ds, r.end()
}

// Generators is compile.Repository.Generators.
func (c *Client) Generators(in compile.Input) ([]generator.Run, diag.List, error) {
	r, err := c.ask(question{ask: askGenerators, in: in})
	if err != nil {
		return nil, nil, err
	}
	ds, list := r.diags(), readRuns(r)
	return list, ds, r.end()
}

// Lookups is compile.Repository.Lookups.
func (c *Client) Lookups() ([]source.Lookup, diag.List, error) {
	r, err := c.ask(question{ask: askLookups})
	if err != nil {
		return nil, nil, err
	}
	ds, list := r.diags(), readLookups(r)
	return list, ds, r.end()
}

// ask sends a question and serves the tree until the result arrives.
func (c *Client) ask(q question) (*reader, error) {
	payload, err := q.encode()
	if err != nil {
		return nil, err
	}
	if err := c.conn.send(kindQuestion, payload); err != nil {
		return nil, err
	}
	for {
		kind, payload, err := c.conn.receive()
		if err != nil {
			return nil, whole(err)
		}
		switch kind {
		case kindResult:
			return &reader{b: payload}, nil
		case kindRequest:
			err = c.serve(c.tree, &c.secrets, payload)
		case kindRequestBefore:
			err = nonsense("a request for an unknown revision")
			if c.before.tree != nil {
				err = c.serve(c.before.tree, &c.before.secrets, payload)
			}
		default:
			err = nonsense("a message of kind %q", kind)
		}
		if err != nil {
			return nil, err
		}
	}
}

func (c *Client) serve(tree repo.Tree, s *secrets, payload []byte) error {
	reply, err := answer(tree, s, payload)
	if err != nil {
		return err
	}
	return c.conn.send(kindAnswer, reply)
}
