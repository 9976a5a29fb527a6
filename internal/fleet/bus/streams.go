package bus

import (
	"bytes"
	"fmt"
	"strings"
	"sync"

	"fettle.dev/fettle/internal/stream"
)

// ErrLost means that a stream ended because its connection did.
var ErrLost = stream.ErrLost

// Maximum number of open streams of a hub and of a link.
const (
	maxHubStreams  = 4096
	maxLinkStreams = 32
)

// streams are the open streams of one end, by the other end and the stream's token.
type streams struct {
	most int
	mu   sync.Mutex
	open map[[2]string]*stream.Stream
}

func newStreams(most int) *streams { return &streams{most: most, open: map[[2]string]*stream.Stream{}} }

// begin creates a stream that sends its frames with send.
func (t *streams) begin(with, sid string, send func([]byte) error) (*stream.Stream, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := [2]string{with, sid}
	if len(t.open) >= t.most || t.open[key] != nil {
		return nil, fmt.Errorf("cannot open another stream: %d are open. Close one, or retry later", len(t.open))
	}
	s := stream.Over(stream.Messages{Send: send, Forget: func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.open, key)
	}})
	t.open[key] = s
	return s, nil
}

// count returns the number of open streams.
func (t *streams) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.open)
}

// frame delivers a frame to its stream, and returns false if there is none.
func (t *streams) frame(with, sid string, b []byte) bool {
	t.mu.Lock()
	s := t.open[[2]string{with, sid}]
	t.mu.Unlock()
	if s != nil {
		s.Receive(b)
	}
	return s != nil
}

// failOf breaks the streams with one other end.
func (t *streams) failOf(with string, why error) {
	t.fail(why, func(key [2]string) bool { return key[0] == with })
}

func (t *streams) failAll(why error) { t.fail(why, func([2]string) bool { return true }) }

func (t *streams) fail(why error, which func([2]string) bool) {
	t.mu.Lock()
	var broken []*stream.Stream
	for key, s := range t.open {
		if which(key) {
			broken = append(broken, s)
		}
	}
	t.mu.Unlock()
	for _, s := range broken {
		s.Fail(why)
	}
}

// packOpen encodes the request that opens a stream.
func packOpen(hub, sid string, header []byte) []byte {
	return append([]byte(hub+" "+sid+"\n"), header...)
}

// parseOpen decodes the request of packOpen. The tokens that it returns are valid parts of
// subjects.
func parseOpen(b []byte) (hub, sid string, header []byte, err error) {
	line, header, ok := bytes.Cut(b, []byte("\n"))
	hub, sid, both := strings.Cut(string(line), " ")
	if !ok || !both || !isToken(hub) || !isToken(sid) {
		return "", "", nil, fmt.Errorf("cannot open a stream for %.80q", line)
	}
	return hub, sid, header, nil
}
