package bus

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
)

// How many streams may be open at once.
const (
	maxHubStreams  = 4096
	maxLinkStreams = 32
)

// streams are the open ones of one end, by whom they are shared with and their number.
type streams struct {
	most int
	mu   sync.Mutex
	open map[[2]string]*stream
}

func newStreams(most int) *streams { return &streams{most: most, open: map[[2]string]*stream{}} }

// begin makes a stream whose frames go through send.
func (t *streams) begin(with, sid string, send func([]byte) error) (*stream, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := [2]string{with, sid}
	if len(t.open) >= t.most || t.open[key] != nil {
		return nil, fmt.Errorf("cannot open a stream: %d are open, and no more may be", len(t.open))
	}
	s := newStream(send, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.open, key)
	})
	t.open[key] = s
	return s, nil
}

// frame gives a frame to its stream, and tells whether there is one.
func (t *streams) frame(with, sid string, b []byte) bool {
	t.mu.Lock()
	s := t.open[[2]string{with, sid}]
	t.mu.Unlock()
	if s != nil {
		s.frame(b)
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
	var broken []*stream
	for key, s := range t.open {
		if which(key) {
			broken = append(broken, s)
		}
	}
	t.mu.Unlock()
	for _, s := range broken {
		s.fail(why)
	}
}

// packOpen is the question that opens a stream.
func packOpen(hub, sid string, header []byte) []byte {
	return append([]byte(hub+" "+sid+"\n"), header...)
}

// parseOpen reads one. What it gives is safe in a subject.
func parseOpen(b []byte) (hub, sid string, header []byte, err error) {
	line, header, ok := bytes.Cut(b, []byte("\n"))
	hub, sid, both := strings.Cut(string(line), " ")
	if !ok || !both || !isToken(hub) || !isToken(sid) {
		return "", "", nil, fmt.Errorf("cannot open a stream for %.80q", line)
	}
	return hub, sid, header, nil
}
