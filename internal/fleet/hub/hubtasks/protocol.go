package hubtasks

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/lang/query"
)

// Socket is the default path of the socket.
const Socket = "/run/fettle-hub-tasks/socket"

// Limits of messages, in bytes. A request has an input of up to 1 MiB, and up to 16 secrets of up to 1 MiB.
const (
	maxRequest = 32 << 20
	maxReply   = 64 << 10
	maxTail    = 300 // bytes of the output that a reply has
)

// request is one attempt. Without a command, it is one test of Verify within Timeout. Without both, it only asks
// whether the server is there. An older server answers a test as if it had neither.
type request struct {
	Scope      string            `json:"scope,omitempty"`
	Task       string            `json:"task,omitempty"`
	Fence      uint64            `json:"fence,omitempty"`
	VerifyOnly bool              `json:"verify_only,omitempty"`
	Expires    int64             `json:"expires,omitempty"` // seconds since 1970
	Command    []string          `json:"command,omitempty"`
	Input      string            `json:"input,omitempty"`
	Env        map[string]string `json:"env,omitempty"` // secrets
	Verify     *query.Probe      `json:"verify,omitempty"`
	Timeout    int64             `json:"timeout,omitempty"` // seconds
}

// reply is the result of an attempt.
type reply struct {
	Outcome fleet.TaskOutcome `json:"outcome"`
	Text    string            `json:"text,omitempty"`
}

// receive reads one line of JSON.
func receive[T any](r io.Reader, limit int64) (out T, err error) {
	line, err := bufio.NewReader(io.LimitReader(r, limit)).ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		return out, errors.New("the connection was closed before the end of the message")
	}
	if err == nil {
		err = json.Unmarshal(line, &out)
	}
	return out, err
}

func send(w io.Writer, message any) error {
	text, err := json.Marshal(message)
	if err == nil {
		_, err = w.Write(append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("cannot send: %w", err)
	}
	return nil
}
