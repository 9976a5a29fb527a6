package versions

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// event is an event that a browser receives.
type event struct{ name, data string }

// buffer is a connection to a browser that keeps all data.
type buffer struct{ bytes.Buffer }

func (*buffer) Flush() error { return nil }

// received returns the events of a stream. A compressed one ends without its checksum.
func received(t *testing.T, w *buffer, compressed bool) (out []event) {
	t.Helper()
	var in io.Reader = w
	if compressed {
		var err error
		if in, err = gzip.NewReader(w); err != nil {
			t.Fatal(err)
		}
	}
	text, _ := io.ReadAll(in)
	for part := range strings.SplitSeq(strings.TrimSuffix(string(text), "\n\n"), "\n\n") {
		name, data, ok := strings.Cut(strings.TrimPrefix(part, "event: "), "\ndata: ")
		if !ok {
			t.Fatalf("the stream has %q", part)
		}
		out = append(out, event{name, data})
	}
	return out
}

// textOf returns the text of a version.
func textOf(t *testing.T, v Version) (text string) {
	t.Helper()
	w := &buffer{}
	if err := NewStream(w, false).Send(v); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(received(t, w, false)[0].data), &text); err != nil {
		t.Fatal(err)
	}
	return text
}

// TestStream: browsers get each version once, and at each look the time since it was read. Versions that other viewers
// share follow each other in one compressed stream.
func TestStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p packer
		var all []Version
		texts := []string{"<main>one</main>", strings.Repeat("<b>two</b>\n\u2028", 9000), "<main>one</main>", ""}
		for _, text := range texts {
			v, err := p.version([]byte(text), time.Now())
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, v)
		}
		time.Sleep(3 * time.Second)
		for _, compressed := range []bool{false, true} {
			for first := range all { // a viewer can come later than others
				w := &buffer{}
				s := NewStream(w, compressed)
				var want []string
				for _, v := range append(all[first:], all[len(all)-1]) {
					if err := s.Send(v); err != nil {
						t.Fatal(err)
					}
				}
				want = append(want, texts[first:]...)
				ages := 0
				for _, e := range received(t, w, compressed) {
					var text string
					switch {
					case e == event{"read", "3000"}:
						ages++
					case e.name != "page" || json.Unmarshal([]byte(e.data), &text) != nil || len(want) == 0 || text != want[0]:
						t.Fatalf("compressed %v: the stream has the event %.200q", compressed, e)
					default:
						want = want[1:]
					}
				}
				if len(want) > 0 || ages != len(all)-first+1 {
					t.Errorf("compressed %v: %d versions are missing, and there are %d ages", compressed, len(want), ages)
				}
			}
		}
	})
}

// gone is a browser that has closed its connection.
type gone struct{ buffer }

func (*gone) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// TestEndOfStream: if the browser is gone, the stream ends.
func TestEndOfStream(t *testing.T) {
	var p packer
	v, err := p.version([]byte("text"), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, compressed := range []bool{false, true} {
		if NewStream(&gone{}, compressed).Send(v) == nil {
			t.Errorf("compressed %v: there is no error", compressed)
		}
	}
}

// silent is a browser that discards all data.
type silent struct{ io.Writer }

func (silent) Flush() error { return nil }

// BenchmarkViewers sends a version of a page with tiles of ten thousand targets to twenty browsers.
func BenchmarkViewers(b *testing.B) {
	var text bytes.Buffer
	for i := range 10_000 {
		fmt.Fprintf(&text, `<path class="good" d="M%d %dh8v8h-8z"/> host%05d`, rand.N(999), rand.N(999), i)
	}
	var all []*Stream
	for range 20 {
		all = append(all, NewStream(silent{io.Discard}, true))
	}
	var p packer
	n := 0
	for b.Loop() {
		n++
		v, err := p.version(fmt.Append(text.Bytes(), n), time.Now())
		for _, s := range all {
			if err == nil {
				err = s.Send(v)
			}
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
