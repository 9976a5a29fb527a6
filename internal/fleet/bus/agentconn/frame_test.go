package agentconn

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestFrames(t *testing.T) {
	var b []byte
	b = packHello(b, 300, "hub-1")
	b = packMessage(b, "q.do", "r.x.1", []byte("body"))
	b = packMessage(b, "here", "", nil)
	b = packMessage(b, "d.x", "", make([]byte, MaxBody))
	b = appendFrame(b, kindPing)
	r := bytes.NewReader(b)
	var h head
	next := func(want byte) []byte {
		t.Helper()
		kind, rest, err := h.read(r, 0, hubRoom)
		if err != nil || kind != want {
			t.Fatalf("read %q, %v, want %q", kind, err, want)
		}
		return rest
	}
	if number, name, err := openHello(next(kindHello)); number != 300 || name != "hub-1" || err != nil {
		t.Errorf("hello is %d %q, %v", number, name, err)
	}
	for _, want := range []struct {
		subject, reply string
		size           int
	}{{"q.do", "r.x.1", 4}, {"here", "", 0}, {"d.x", "", MaxBody}} {
		subject, reply, body, err := openMessage(next(kindMessage))
		if subject != want.subject || reply != want.reply || len(body) != want.size || err != nil {
			t.Errorf("read %q %q and %d bytes, %v, want %v", subject, reply, len(body), err, want)
		}
	}
	if rest := next(kindPing); len(rest) != 0 {
		t.Errorf("a ping has %q", rest)
	}
	if _, _, err := h.read(r, 0, hubRoom); !errors.Is(err, io.EOF) {
		t.Errorf("behind all: %v", err)
	}
}

func TestBadFrames(t *testing.T) {
	for name, b := range map[string]string{
		"empty": "\x00\x00\x00\x00M", "a gigabyte": "\x40\x00\x00\x00M", "all": "\xff\xff\xff\xffM",
		"one too many": "\x00\x21\x04\x02M",
	} {
		var h head
		if _, _, err := h.read(strings.NewReader(b), 0, hubRoom); !errors.Is(err, errForm) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, b := range []string{"", "\x00", "\x00\x00", "\x01", "\x01.\x00", "\x01*\x00", "\x01>\x00", "\x01a\x01>",
		"\x01a\x02b", "\x80", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01a"} {
		if _, _, _, err := openMessage([]byte(b)); !errors.Is(err, errForm) {
			t.Errorf("a message %q: %v", b, err)
		}
	}
	for _, b := range []string{"", "\x80", "\x01", "\x01a b"} {
		if _, _, err := openHello([]byte(b)); !errors.Is(err, errForm) {
			t.Errorf("a hello %q: %v", b, err)
		}
	}
}

// FuzzRead: for any input, a parsed frame is encoded as the same bytes.
func FuzzRead(f *testing.F) {
	f.Add(packMessage(packHello(nil, 1, "hub"), "q.do", "r.x.1", []byte("body")))
	f.Add([]byte("\x00\x00\x00\x05M\x01a\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		var h head
		for {
			kind, rest, err := h.read(r, 0, hubRoom)
			if err != nil {
				return
			}
			switch kind {
			case kindMessage:
				subject, reply, body, err := openMessage(rest)
				if err != nil {
					continue
				}
				again := packMessage(nil, subject, reply, body)
				s, p, back, err := openMessage(again[headSize:])
				if s != subject || p != reply || !bytes.Equal(back, body) || err != nil {
					t.Errorf("%q became %q %q %q, %v", rest, s, p, back, err)
				}
				if !isPlain(subject) || strings.ContainsAny(subject+reply, "*> \r\n") {
					t.Errorf("read the subject %q with an answer to %q", subject, reply)
				}
			case kindHello:
				_, _, _ = openHello(rest)
			}
		}
	})
}

func TestSubjects(t *testing.T) {
	for _, s := range []string{"q", "q.do", "r.0aZ.17", "d.x-y"} {
		if !isPlain(s) {
			t.Errorf("%q is no subject", s)
		}
	}
	for _, s := range []string{"", ".", "a.", ".a", "a..b", "*", ">", "a.*", "a b", "a\n", "ä", "a/b", "$JS.x",
		strings.Repeat("a", maxSubject+1)} {
		if isPlain(s) {
			t.Errorf("%q is a subject", s)
		}
	}
	for _, c := range []struct {
		pattern, subject string
		want             bool
	}{
		{"q.do", "q.do", true}, {"q.do", "q.do.it", false}, {"q.do", "q", false}, {"q.*", "q.do", true},
		{"q.*", "q", false}, {"q.*", "q.do.it", false},
		{"r.*.*", "r.a.1", true}, {"r.*.*", "r.a", false}, {"r.a.*", "r.b.1", false}, {">", "q", true},
		{"q.>", "q.do.it", true}, {"q.>", "r.do", false},
	} {
		if got := covers(strings.Split(c.pattern, "."), c.subject); got != c.want {
			t.Errorf("%s covers %s: %v", c.pattern, c.subject, got)
		}
	}
}

func TestLooks(t *testing.T) {
	var s missedChecks
	for i, c := range []struct {
		heard bool
		want  verdict
	}{{false, nothing}, {false, ask}, {true, nothing}, {false, nothing}, {false, ask}, {false, ask}, {false, end}} {
		if got := s.look(c.heard, 4); got != c.want {
			t.Errorf("look %d: %v, want %v", i, got, c.want)
		}
	}
}
