package agentsocket

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
)

// Handler serves one connection after its first document, until the run disconnects or ctx ends. The Server closes the
// connection. request is the body of the first document, nil if it has none.
type Handler func(ctx context.Context, request []byte, conn io.ReadWriteCloser)

// Server serves connections by their topics.
type Server map[string]Handler

// Serve serves one connection, and closes it. It is safe for concurrent use.
func (s Server) Serve(ctx context.Context, conn io.ReadWriteCloser) {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	in := json.NewDecoder(io.LimitReader(conn, maxMessage))
	var o opening
	if in.Decode(&o) != nil {
		return
	}
	handle := s[o.Topic]
	if handle == nil {
		send(conn, reply{Error: "the agent of this host does not support requests about " + strconv.QuoteToASCII(o.Topic) +
			": it is a different version of fettle. Upgrade the agent, or restart it: systemctl restart fettle-agent"})
		return
	}
	handle(ctx, o.Body, &rest{ReadWriteCloser: conn, in: io.MultiReader(in.Buffered(), conn)})
}

// rest is a connection after its first document.
type rest struct {
	io.ReadWriteCloser
	in io.Reader
}

// Read implements io.Reader.
func (r *rest) Read(b []byte) (int, error) { return r.in.Read(b) }

func send(to io.Writer, r reply) { _ = json.NewEncoder(to).Encode(r) } // if it fails, the run has disconnected

// Answering returns a handler that answers one request. handle must be safe for concurrent use.
func Answering(handle func(ctx context.Context, request []byte) ([]byte, error)) Handler {
	return func(ctx context.Context, request []byte, conn io.ReadWriteCloser) {
		ctx, cancel := context.WithTimeout(ctx, answerTime)
		defer cancel()
		body, err := handle(ctx, request)
		switch {
		case err != nil:
			send(conn, reply{Error: err.Error()})
		case !json.Valid(body):
			send(conn, reply{Error: fmt.Sprintf("the hub returned an answer of %d bytes that is not JSON", len(body))})
		default:
			send(conn, reply{Body: body})
		}
	}
}

// Conversation returns a handler of a topic without a request in its first document. serve closes the connection.
func Conversation(serve func(ctx context.Context, conn io.ReadWriteCloser)) Handler {
	return func(ctx context.Context, _ []byte, conn io.ReadWriteCloser) { serve(ctx, conn) }
}
