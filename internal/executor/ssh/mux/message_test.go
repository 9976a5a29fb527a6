package mux

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
)

// body makes the body of a message of numbers and texts.
func body(fields ...any) []byte {
	var b []byte
	for _, f := range fields {
		switch f := f.(type) {
		case kind:
			b = binary.BigEndian.AppendUint32(b, uint32(f))
		case int:
			b = binary.BigEndian.AppendUint32(b, uint32(f))
		case string:
			b = append(binary.BigEndian.AppendUint32(b, uint32(len(f))), f...)
		}
	}
	return b
}

func TestParse(t *testing.T) {
	for name, c := range map[string]struct {
		body []byte
		want message
	}{
		"hello":              {body(kindHello, 4), message{kind: kindHello, id: 4}},
		"hello with more":    {body(kindHello, 4, "name", "value"), message{kind: kindHello, id: 4}},
		"opened":             {body(kindOpened, 0, 7), message{kind: kindOpened, value: 7}},
		"ended":              {body(kindEnded, 7, 255), message{kind: kindEnded, id: 7, value: 255}},
		"denied":             {body(kindDenied, 0, "no"), message{kind: kindDenied, reason: "no"}},
		"failed":             {body(kindFailed, 0, ""), message{kind: kindFailed}},
		"nothing":            {nil, message{}},
		"half a hello":       {body(kindHello), message{}},
		"half an extension":  {body(kindHello, 4, "name"), message{}},
		"too much":           {body(kindOpened, 0, 7, 1), message{}},
		"too little":         {body(kindEnded, 7), message{}},
		"a text too long":    {body(kindFailed, 0, 1<<31-1), message{}},
		"of another kind":    {body(kind(0x80000008), 1), message{}},
		"that a client says": {body(kindNewSession, 0), message{}},
	} {
		got, err := parse(c.body)
		if got != c.want || (err != nil) != (c.want == message{}) || err != nil && !errors.Is(err, errMalformed) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestReadBounds(t *testing.T) {
	for name, text := range map[string]string{
		"nothing": "", "half a length": "\x00\x00", "too short": "\x00\x00\x00\x03abc", "too long": "\x00\x01\x00\x00",
		"half": "\x00\x00\x00\x08abc",
	} {
		if m, err := read(strings.NewReader(text)); err == nil {
			t.Errorf("%s is taken for %+v", name, m)
		}
	}
	if _, err := newSession(0, Request{Env: []string{strings.Repeat("x", maxRequest)}}); err == nil {
		t.Error("a request is made that no master takes")
	}
}

// FuzzRead: whatever comes is a message or an error, takes no byte beyond its length, and
// a message that is taken says what its bytes say.
func FuzzRead(f *testing.F) {
	for _, b := range [][]byte{body(kindHello, 4), body(kindHello, 4, "a", "b"), body(kindOpened, 0, 7),
		body(kindEnded, 7, 3), body(kindFailed, 0, "no")} {
		f.Add(framed(b))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r := bytes.NewReader(text)
		m, err := read(r)
		if err != nil {
			if m != (message{}) {
				t.Errorf("%+v comes with %v", m, err)
			}
			return
		}
		rest, _ := io.ReadAll(r)
		n := 4 + int(binary.BigEndian.Uint32(text))
		if len(text)-len(rest) != n || n > 4+maxReply {
			t.Fatalf("%d bytes are read of %d", len(text)-len(rest), n)
		}
		again := body(m.kind, int(m.id))
		switch m.kind {
		case kindOpened, kindEnded:
			again = body(m.kind, int(m.id), int(m.value))
		case kindDenied, kindFailed:
			again = body(m.kind, int(m.id), m.reason)
		}
		if m.kind == kindHello && bytes.HasPrefix(text[4:n], again) {
			return // extensions are not kept
		}
		if !bytes.Equal(again, text[4:n]) {
			t.Errorf("%q is read as %+v", text[4:n], m)
		}
	})
}
