package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
)

// Magic is the first line of the served end. Earlier output, from login scripts, is
// noise.
const Magic = "fettle-wire 1"

// maxNoise is how much may come before the magic line, in bytes.
const maxNoise = 64 << 10

// Hello is the first message of the served end, which describes itself.
type Hello struct {
	Version string `json:"version"`
	Host    string `json:"host"`           // how the machine calls itself
	User    string `json:"user,omitempty"` // the account that runs the process
	// Public is the key of the machine's own identity, to which secrets are handed
	// over; "" for none yet.
	Public string `json:"public,omitempty"`
	// Facts are the facts of the machine, in JSON with their types.
	Facts map[string]json.RawMessage `json:"facts,omitempty"`
	// Ended are runs that ended after the connection that began them was lost.
	Ended []Ended `json:"ended,omitempty"`
	// Kept says that an agent keeps the machine; nil: none does.
	Kept *Kept `json:"kept,omitempty"`
	// Trouble says what the machine could not tell, in a sentence.
	Trouble string `json:"trouble,omitempty"`
}

// Kept describes the assignment that an agent applies to the machine. The agent reverts
// deviating changes.
type Kept struct {
	// Commit is the commit of the root bundle, Branch the branch that resolved to it.
	Commit string `json:"commit,omitempty"`
	Branch string `json:"branch,omitempty"`
	// Generation is the generation of the assignment, 0 if there is none yet.
	Generation uint64 `json:"generation"`
	// Frozen is why the fleet keeps the agent from changing anything, "" for no freeze.
	Frozen string `json:"frozen,omitempty"`
}

// Undoes reports whether the agent would undo a rollback immediately. A frozen agent undoes nothing, and
// neither does an agent whose assignment is the restored commit. A nil Kept means that there is no
// agent.
func (k *Kept) Undoes(p *plan.Plan) bool {
	return k != nil && k.Generation > 0 && k.Frozen == "" && !p.Empty() &&
		(p.Revision.Commit == "" || p.Revision.Commit != k.Commit)
}

// Ended is a run whose report no client received.
type Ended struct {
	Name    string           `json:"name"` // of the kept report
	Report  *executor.Report `json:"report,omitempty"`
	Error   string           `json:"error,omitempty"`
	Command string           `json:"command,omitempty"` // the command line as the user typed it
	User    string           `json:"user,omitempty"`
	Started int64            `json:"started"` // ns since 1970
	Ended   int64            `json:"ended"`
}

// EncodeFacts makes facts ready for Hello.
func EncodeFacts(facts map[string]cty.Value) (map[string]json.RawMessage, error) {
	out := make(map[string]json.RawMessage, len(facts))
	for name, v := range facts {
		text, err := ctyjson.Marshal(v, cty.DynamicPseudoType)
		if err != nil {
			return nil, fmt.Errorf("cannot send the fact %s: %w", name, err)
		}
		out[name] = text
	}
	return out, nil
}

func decodeFacts(facts map[string]json.RawMessage) (map[string]cty.Value, error) {
	out := make(map[string]cty.Value, len(facts))
	for name, text := range facts {
		v, err := ctyjson.Unmarshal(text, cty.DynamicPseudoType)
		if err != nil {
			return nil, fmt.Errorf("cannot read the fact %q: %w", name, err)
		}
		out[name] = v
	}
	return out, nil
}

// greet sends the start of the protocol. The output of a login script may lack its final
// newline, so the magic line is preceded by a newline.
func (c *conn) greet(h Hello) error {
	text, err := journal.Marshal(h)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(c.stream, "\n"+Magic+"\n"); err != nil {
		return err
	}
	return c.w.sendMessage(typeEvent, 0, text)
}

// NoiseError: the other end is not fettle. Text is its output.
type NoiseError struct{ Text string }

func (e *NoiseError) Error() string {
	if e.Text == "" {
		return "the other end closed the connection without an answer"
	}
	return "the other end is not fettle; its output: " + e.Text
}

// awaitMagic skips what login scripts print.
func awaitMagic(r *bufio.Reader) error {
	var noise bytes.Buffer
	for noise.Len() < maxNoise {
		line, err := r.ReadSlice('\n')
		if string(bytes.TrimRight(line, "\r\n")) == Magic {
			return nil
		}
		noise.Write(line)
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return &NoiseError{Text: lastLines(noise.String())}
		}
	}
	return &NoiseError{Text: lastLines(noise.String())}
}

// lastLines are the last lines of a text, on one.
func lastLines(s string) string {
	const most = 600
	s = strings.TrimSpace(s)
	if len(s) > most {
		s = "…" + s[len(s)-most:]
	}
	return strings.Join(strings.Fields(s), " ")
}

// hear reads the hello behind the magic line. most is its maximum size in bytes.
func hear(r *reader, most int) (Hello, error) {
	var h Hello
	if err := awaitMagic(r.from); err != nil {
		return h, err
	}
	var text []byte
	for {
		f, err := r.next()
		if err != nil {
			return h, fmt.Errorf("the other end stopped answering during the handshake: %w", err)
		}
		if f.kind != typeEvent || f.stream != 0 || len(text)+len(f.payload) > most {
			return h, errMalformed
		}
		if text = append(text, f.payload...); !f.more {
			break
		}
	}
	if err := journal.UnmarshalStrict(text, &h); err != nil {
		var other struct{ Version string }
		_ = json.Unmarshal(text, &other) // it may be older or newer than this end knows
		return h, fmt.Errorf("cannot read the handshake of the other end, which is fettle %q: %w", other.Version, err)
	}
	return h, nil
}
