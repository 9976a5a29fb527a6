// Package agentsocket is the protocol between the agent of a host and the runs of this host. The agent serves one
// socket.
//
//	s := agentsocket.Server{agentsocket.Waits: agentsocket.Answering(handle), agentsocket.Slots: keeper.Serve}
//	end, err := here.ServeRuns(ctx, machine, s.Serve)
//
//	answer, err := agentsocket.Ask(ctx, dial, agentsocket.Waits, request)
//
// A connection begins with a JSON document that names a topic. The topic defines the other documents: one answer, or a
// conversation. An agent that does not have the topic answers with an error.
//
// # Meaning
//
//   - Absence: without an agent, dial returns ErrNoAgent.
//   - Failure: the error of a handler is the error of Ask.
//   - Unknown: if the connection ends without an answer, Ask returns an error. The agent may have handled the request.
//   - Repetition: each request has its own connection. Handlers must permit a repetition.
//   - Interruption: a handler ends when the run disconnects, or the agent ends.
package agentsocket

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Directory is the directory of the socket on the host, and Socket its name. Only root can use them.
const (
	Directory = "/run/fettle/agent"
	Socket    = "agent.sock"
)

// The topics.
const (
	Slots = "slots" // slots of locks: a conversation, see internal/executor/slots
	Locks = "locks" // whether slots are free: slots.Question and slots.Description
	Waits = "waits" // barriers and signals: fleet.WaitRequest and fleet.WaitAnswer
)

// maxMessage is the maximum size of the first document and of an answer, in bytes.
const maxMessage = 64 << 10

// answerTime limits the time for an answer.
const answerTime = 30 * time.Second

// ErrNoAgent is in the chain of an error if no agent serves the host.
var ErrNoAgent = errors.New("the agent of this host does not run")

// Dial connects to the agent.
type Dial func(ctx context.Context) (io.ReadWriteCloser, error)

// opening is the first document of a connection. Body is the request if the topic has one answer.
type opening struct {
	Topic string          `json:"topic"`
	Body  json.RawMessage `json:"body,omitempty"`
}

// reply is an answer. An agent that does not have the topic sends it too.
type reply struct {
	Body  json.RawMessage `json:"body,omitempty"`
	Error string          `json:"error,omitempty"`
}

// Open connects to the agent, and begins a conversation about a topic.
func Open(ctx context.Context, dial Dial, topic string) (io.ReadWriteCloser, error) {
	return open(ctx, dial, opening{Topic: topic})
}

func open(ctx context.Context, dial Dial, o opening) (io.ReadWriteCloser, error) {
	conn, err := dial(ctx)
	if err != nil {
		return nil, err
	}
	if err := json.NewEncoder(conn).Encode(o); err != nil {
		return nil, fmt.Errorf("cannot ask the agent of this host: %w", errors.Join(err, conn.Close()))
	}
	return conn, nil
}

// Ask sends a request, and returns the answer. Both are JSON documents.
func Ask(ctx context.Context, dial Dial, topic string, request []byte) ([]byte, error) {
	conn, err := open(ctx, dial, opening{Topic: topic, Body: request})
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	var r reply
	err = json.NewDecoder(io.LimitReader(conn, 2*maxMessage)).Decode(&r)
	switch {
	case ctx.Err() != nil && err != nil:
		return nil, fmt.Errorf("the agent of this host does not answer: %w", ctx.Err())
	case err != nil:
		return nil, fmt.Errorf("the agent of this host does not answer: %w", err)
	case r.Error != "":
		return nil, errors.New(r.Error)
	}
	return r.Body, nil
}
