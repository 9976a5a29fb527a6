package child

import (
	"fmt"
	"io"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/stream"
)

// Client is the holder's end: it sends questions about one repository to one child. After an error
// of a method it must not be used again. It is not safe for concurrent use.
type Client struct {
	conn   conn
	now    side
	before side // the previous revision, after the first question about it
}

// Connect sends the names of a tree to a child whose output is r and whose
// input is w.
func Connect(r io.Reader, w io.Writer, tree repo.Tree) (*Client, error) {
	c := &Client{conn: conn{r, w}, now: side{tree, &secrets{}}}
	return c, c.conn.send(kindTree, index(tree))
}

// Open makes the secrets of a vault available to the child's requests. Without a vault each secret
// is a placeholder.
func (c *Client) Open(v Vault) { c.now.secrets.vault = v }

// Knows reports whether the child received a secret, which can then be part of any of its output.
func (c *Client) Knows() bool { return len(c.now.secrets.used) > 0 }

// Answer answers a compile.Query; its tree is ignored, and the client's tree is used. The error means
// that the child failed, not that the configuration has errors. Answers are checked: names of targets
// are unique, settings of ssh are valid, and a schema is a JSON document.
func (c *Client) Answer(query any) (any, diag.List, error) {
	for i, f := range forms() {
		if q, ok := f.encode(query); ok {
			q.ask = firstForm + uint64(i)
			c.now.secrets.must = f.whole && q.in.NeedSecrets
			r, err := c.ask(q)
			c.now.secrets.must = false
			if err != nil {
				return nil, nil, err
			}
			return f.read(c.now, r)
		}
	}
	return nil, nil, fmt.Errorf("a query of the type %T has no row in the table of queries", query)
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
			return nil, stream.Unexpected(err)
		}
		switch kind {
		case kindResult:
			return &reader{b: payload}, nil
		case kindRequest:
			err = c.serve(c.now, payload)
		case kindRequestBefore:
			err = nonsense("a request for an unknown revision")
			if c.before.tree != nil {
				err = c.serve(c.before, payload)
			}
		default:
			err = nonsense("a message of kind %q", kind)
		}
		if err != nil {
			return nil, err
		}
	}
}

func (c *Client) serve(of side, payload []byte) error {
	reply, err := answer(of.tree, of.secrets, payload)
	if err != nil {
		return err
	}
	return c.conn.send(kindAnswer, reply)
}
