package journal

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
)

// marshalState returns the output of Marshal for st, byte for byte. A state has an entry for every
// address, and reflection would take most of their time.
func marshalState(st *State) ([]byte, error) {
	o := object{b: make([]byte, 0, 256+256*len(st.Entries))}
	o.b = strconv.AppendInt(append(o.b, `{"format":`...), int64(st.Format), 10)
	o.b = strconv.AppendInt(append(o.b, `,"run":`...), int64(st.Run), 10)
	o.text("list", st.List, false)
	o.text("target", st.Target, false)
	if len(st.Entries) > 0 {
		o.key("entries")
		for i := range st.Entries {
			o.b = append(o.b, "[,"[min(i, 1)])
			o.entry(&st.Entries[i])
		}
		o.b = append(o.b, ']')
	}
	if len(st.Pending) > 0 {
		o.any("pending", st.Pending)
	}
	o.key("complete")
	o.b = strconv.AppendBool(o.b, st.Complete)
	o.any("revision", st.Revision)
	if st.Repository != nil {
		o.any("repository", st.Repository)
	}
	return append(o.b, '}'), o.err
}

func (o *object) state(k string, st *State) {
	b, err := marshalState(st)
	if err != nil {
		o.err = err
	}
	o.key(k)
	o.b = append(o.b, b...)
}

func (o *object) entry(e *Entry) {
	o.b = append(o.b, '{')
	o.text("a", string(e.Addr), true)
	o.text("s", e.Step.String(), true)
	o.text("src", e.Src, false)
	o.image("o", e.Origin)
	o.image("ad", e.Adopted)
	o.b = strconv.AppendInt(append(o.b, `,"r":`...), int64(e.Run), 10)
	o.b = strconv.AppendInt(append(o.b, `,"f":`...), int64(e.FirstRun), 10)
	o.text("by", string(e.PurgedBy), false)
	if e.Output != nil {
		o.text("out", *e.Output, true)
	}
	if e.Failed {
		o.b = append(o.b, `,"fail":true`...)
	}
	o.text("undo", e.Undo.String(), false)
	o.b = append(o.b, '}')
}

// unmarshalState returns the same result as Unmarshal. It parses the simplest form of
// marshalState's output itself, and passes other input to Unmarshal.
func unmarshalState(b []byte, st *State) error {
	const before, after = `,"entries":[`, `],"`
	start := bytes.Index(b, []byte(before))
	if start < 0 || !utf8.Valid(b) || hasEscape(b) || hasControl(b) {
		return Unmarshal(b, st)
	}
	s := scanner{rest: string(b[start+len(before):])}
	entries := make([]Entry, 0, bytes.Count(b, []byte(`},{"a":`))+1)
	for more := true; more && !s.bad; more = s.skip(",") {
		entries = append(entries, s.entry())
	}
	if s.bad || len(s.rest) < len(after) || s.rest[:len(after)] != after {
		return Unmarshal(b, st)
	}
	whole := append(append(b[:start:start], ','), s.rest[2:]...)
	*st = State{}
	if err := Unmarshal(whole, st); err != nil {
		return err
	}
	st.Entries = entries
	return nil
}

func hasControl(b []byte) bool {
	for _, c := range b {
		if c < ' ' {
			return true
		}
	}
	return false
}

// scanner reads entries in the form that marshalState writes. Text in any other form is bad, even
// if it is equivalent.
type scanner struct {
	rest   string
	bad    bool
	absent *image.Image // one for all: states are never changed
	lines  step.LineReader
}

func (s *scanner) skip(what string) bool {
	if len(s.rest) < len(what) || s.rest[:len(what)] != what {
		return false
	}
	s.rest = s.rest[len(what):]
	return true
}

func (s *scanner) expect(what string) { s.bad = !s.skip(what) || s.bad }

// text reads up to the closing quote.
func (s *scanner) text() string {
	n := quoted(s.rest)
	if n < 0 {
		s.bad = true
		return ""
	}
	t, whole := s.rest[:n], s.rest[:n+1]
	s.rest = s.rest[n+1:]
	if strings.IndexByte(t, '\\') >= 0 {
		return s.unescaped(`"` + whole)
	}
	return t
}

func (s *scanner) step() step.Step {
	read, err := s.lines.Read(s.text())
	s.bad = s.bad || err != nil
	return read
}

func (s *scanner) unescaped(quoted string) (t string) {
	s.bad = Unmarshal([]byte(quoted), &t) != nil || s.bad
	return t
}

// quoted returns the place of the quote that ends the string whose rest is s; -1 if there is none.
func quoted(s string) int {
	for from := 0; ; {
		i := strings.IndexByte(s[from:], '"')
		if i < 0 {
			return -1
		}
		escape := strings.IndexByte(s[from:from+i], '\\')
		if escape < 0 {
			return from + i
		}
		if from += escape + 2; from > len(s) {
			return -1
		}
	}
}

func (s *scanner) number() int {
	i := 0
	for i < len(s.rest) && (s.rest[i] == '-' || '0' <= s.rest[i] && s.rest[i] <= '9') {
		i++
	}
	n, err := strconv.Atoi(s.rest[:i])
	if err != nil || strconv.Itoa(n) != s.rest[:i] {
		s.bad = true
	}
	s.rest = s.rest[i:]
	return n
}

func (s *scanner) entry() (e Entry) {
	s.expect(`{"a":"`)
	e.Addr = addr.Addr(s.text())
	s.expect(`,"s":"`)
	e.Step = s.step()
	if s.skip(`,"src":"`) {
		e.Src = s.text()
	}
	if s.skip(`,"o":`) {
		e.Origin = s.image()
	}
	if s.skip(`,"ad":`) {
		e.Adopted = s.image()
	}
	s.expect(`,"r":`)
	e.Run = s.number()
	s.expect(`,"f":`)
	e.FirstRun = s.number()
	if s.skip(`,"by":"`) {
		e.PurgedBy = addr.Addr(s.text())
	}
	if s.skip(`,"out":"`) {
		out := s.text()
		e.Output = &out
	}
	e.Failed = s.skip(`,"fail":true`)
	if s.skip(`,"undo":"`) {
		e.Undo = s.step()
	}
	s.expect(`}`)
	return e
}

func (s *scanner) image() *image.Image {
	if s.skip(`{"file":{"type":"absent"}}`) {
		if s.absent == nil {
			s.absent = new(image.Of(&image.File{Type: image.Absent}))
		}
		return s.absent
	}
	n := balanced(s.rest)
	img := &image.Image{}
	if img.UnmarshalJSON([]byte(s.rest[:n])) != nil { // the text has no escapes of Marshal
		s.bad = true
		return nil
	}
	s.rest = s.rest[n:]
	return img
}

// balanced is the length of the JSON object that s begins with; 0 if it has no
// end.
func balanced(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			n := quoted(s[i+1:])
			if n < 0 {
				return 0
			}
			i += n + 1
		case '{':
			depth++
		case '}':
			if depth--; depth <= 0 {
				return i + 1
			}
		}
	}
	return 0
}
