package hostile

import (
	"bytes"
	"fmt"
	"io"
	"path"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/test/campaign"
)

// stored is a state directory with loose objects and a pack, and what is in it.
func stored(t testing.TB) (*mem.Host, map[string][]byte) {
	t.Helper()
	h := mem.New(mem.Options{})
	want := map[string][]byte{}
	for run, pack := range []bool{false, true} {
		s, err := journal.OpenWith(h, journal.Options{Ballast: -1})
		must(t, err)
		s.Pack(pack)
		for i := range 12 {
			text := []byte(strings.Repeat(fmt.Sprintf("%d %d\x00", run, i), 1+i*i))
			digest, err := s.PutBytes(text)
			must(t, err)
			want[digest] = text
		}
		must(t, s.SyncObjects())
	}
	return h, want
}

// TestEveryByte flips every byte of objects, packs and indexes, one after the
// other. What is read then is right, or is not given out.
func TestEveryByte(t *testing.T) {
	h, want := stored(t)
	var files []string
	for f := range seen(h, "/", map[string]string{}) {
		if name := path.Dir(f); strings.HasPrefix(name, "/objects/") || name == "/packs" {
			files = append(files, f)
		}
	}
	points, noticed, lost := 0, 0, 0
	for _, f := range files {
		whole := get(h, f)
		for p := 0; p < len(whole); p += pick(7, 1) {
			b := bytes.Clone(whole)
			b[p] ^= 1 << (p % 8)
			must(t, put(h, f, b))
			points++
			bad, wrong := readAll(t, h, want)
			if bad {
				noticed++
			}
			if wrong != "" || !bad && path.Ext(f) == "" {
				lost++
				t.Errorf("byte %d of %s: %s", p, f, wrong)
			}
		}
		must(t, put(h, f, whole))
	}
	if bad, wrong := readAll(t, h, want); bad || wrong != "" {
		t.Errorf("what is whole does not read: %s", wrong)
	}
	campaign.Record(t, campaign.Campaign{Name: "Damaged journals, states and objects",
		Variant: "every byte of objects and packs", Points: points, Hit: noticed, Lost: lost,
		Detail: "each byte is flipped in turn; no reader returns wrong content (in the run: an object was refused; the other bytes are in content that is made again or not read)"})
}

// readAll reads every object in every way.
func readAll(t testing.TB, h *mem.Host, want map[string][]byte) (bad bool, wrong string) {
	t.Helper()
	s, err := journal.OpenWith(h, journal.Options{Ballast: -1})
	if err != nil {
		return true, ""
	}
	for digest, text := range want {
		got, err := s.ReadObject(digest)
		bad = bad || err != nil
		if err == nil && !bytes.Equal(got, text) {
			return bad, "ReadObject gave other content"
		}
		if verr := s.Verify(digest); (verr == nil) != (err == nil) {
			return bad, fmt.Sprintf("Verify says %v, ReadObject %v", verr, err)
		}
		if r, _, oerr := s.Open(digest); oerr == nil {
			got, rerr := io.ReadAll(r)
			if r.Close(); rerr == nil && !bytes.Equal(got, text) {
				return bad, "Open gave other content"
			}
		}
		out, err := h.Create("/out")
		must(t, err)
		cerr := s.CopyTo(digest, out)
		must(t, out.Close())
		if copied := get(h, "/out"); cerr == nil && !bytes.Equal(copied, text) {
			return bad, "CopyTo gave other content"
		}
		must(t, h.Remove("/out"))
	}
	return bad, ""
}
