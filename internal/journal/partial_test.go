package journal_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/local"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/journal"
)

// afar is content that breaks off after some bytes.
type afar struct {
	io.Reader
	digest string
}

func (a afar) ExpectedDigest() string { return a.digest }

var errBroke = errors.New("the line broke")

func breaks(b []byte, after int) afar {
	return afar{io.MultiReader(bytes.NewReader(b[:after]), errReader{errBroke}), journal.DigestOf(b)}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

// Content that fails in the middle keeps its beginning, only for the last such content. The
// beginning is kept until the content is complete, differs, or is collected.
func TestPart(t *testing.T) {
	h, err := local.Open(t.TempDir(), local.Options{})
	check(t, err)
	defer h.Close()
	for name, fsys := range map[string]host.FS{"mem": mem.NewFS(mem.Options{}), "local": h} {
		t.Run(name, func(t *testing.T) {
			s := open(t, fsys)
			one, two := bytes.Repeat([]byte("one"), 1<<20), bytes.Repeat([]byte("two"), 1<<20)
			put := func(r io.Reader, want error) {
				t.Helper()
				if _, _, err := s.Put(r); !errors.Is(err, want) {
					t.Fatalf("it says %v, want %v", err, want)
				}
			}
			parts := func(want string) {
				t.Helper()
				got := ""
				for name, b := range map[string][]byte{"1": one, "2": two} {
					r, size, ok := s.OpenPartial(journal.DigestOf(b))
					if !ok {
						continue
					}
					text := must(io.ReadAll(r))(t)
					check(t, r.Close())
					if int64(len(text)) != size || !bytes.HasPrefix(b, text) {
						t.Errorf("what is kept of %s is not its beginning", name)
					}
					got += name
				}
				temps := 0
				for _, name := range must(fsys.ReadDir("/objects"))(t) {
					if strings.HasPrefix(name, "tmp-") {
						temps++
					}
				}
				if got != want || temps != len(want) {
					t.Errorf("%q is kept, in %d files; want %q", got, temps, want)
				}
			}
			put(breaks(one, 1000), errBroke) // not worth it
			parts("")
			put(breaks(one, 2<<20), errBroke)
			parts("1")
			put(breaks(two, 2<<20), errBroke)
			parts("2")
			put(afar{bytes.NewReader(one), journal.DigestOf(two)}, nil) // different content
			parts("")
			check(t, s.SavePartial(journal.DigestOf(two), bytes.NewReader(two[:100])))
			parts("2")
			put(afar{bytes.NewReader(two), journal.DigestOf(two)}, nil)
			parts("")
			put(breaks(bytes.Repeat([]byte("x"), 3<<20), 2<<20), errBroke)
			must(s.Collect(journal.Retention{}))(t)
			parts("")
			if _, _, ok := s.OpenPartial("sha256:../../../etc/passwd"); ok {
				t.Error("a bad name is there")
			}
			if s.SavePartial("../x", bytes.NewReader(one)) == nil {
				t.Error("a bad name can be kept")
			}
			parts("")
		})
	}
}

// Where nothing can be written no beginning stays: the room is wanted for other things.
func TestPartWithoutRoom(t *testing.T) {
	fsys := mem.NewFS(mem.Options{})
	s := open(t, fsys)
	content := bytes.Repeat([]byte("one"), 1<<20)
	if _, _, err := s.Put(breaks(content, 2<<20)); !errors.Is(err, errBroke) {
		t.Fatal(err)
	}
	full := open(t, fullFS{fsys})
	if _, _, err := full.Put(afar{bytes.NewReader(content), journal.DigestOf(content)}); !errors.Is(err, errFull) {
		t.Fatal(err)
	}
	for _, name := range must(fsys.ReadDir("/objects"))(t) {
		t.Errorf("it leaves %s", name)
	}
}

var errFull = errors.New("no room")

// fullFS is a file system that is full.
type fullFS struct{ host.FS }

func (f fullFS) Create(p string) (host.File, error) {
	file, err := f.FS.Create(p)
	return fullFile{file}, err
}

type fullFile struct{ host.File }

func (fullFile) Write([]byte) (int, error) { return 0, errFull }
