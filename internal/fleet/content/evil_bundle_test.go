package content_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/repo"
)

// entry is an entry of a bundle that is written by hand.
type entry struct {
	kind         byte
	path, target string
	text         string
	size         *uint64 // instead of the text's
	sum          *[32]byte
}

func file(path, text string) entry { return entry{kind: 'f', path: path, text: text} }
func link(path, to string) entry   { return entry{kind: 'l', path: path, target: to} }

// raw writes a bundle without checks.
func raw(entries ...entry) []byte {
	b := binary.BigEndian.AppendUint32([]byte("fettle.bundle/1\n"), uint32(len(entries)))
	text := func(s string) {
		b = append(binary.BigEndian.AppendUint16(b, uint16(len(s))), s...)
	}
	for _, e := range entries {
		b = append(b, e.kind)
		text(e.path)
		if e.kind == 'l' {
			text(e.target)
			continue
		}
		size, sum := uint64(len(e.text)), sha256.Sum256([]byte(e.text))
		if e.size != nil {
			size = *e.size
		}
		if e.sum != nil {
			sum = *e.sum
		}
		b = append(binary.BigEndian.AppendUint64(b, size), sum[:]...)
	}
	for _, e := range entries {
		b = append(b, e.text...)
	}
	return b
}

func sized(path, text string, size uint64) entry {
	return entry{kind: 'f', path: path, text: text, size: &size}
}

// TestHostileBundles has one crafted bundle in each case.
func TestHostileBundles(t *testing.T) {
	good := raw(file("a", "x"), link("b", "a"), entry{kind: 'x', path: "c/d", text: "y"})
	if parse(t, good).Info() != nameOf(string(good)) {
		t.Fatal("a good bundle has another name")
	}
	change := func(at int, to byte) []byte { b := bytes.Clone(good); b[at] = to; return b }
	var huge []entry
	for i := range 9 {
		huge = append(huge, sized(fmt.Sprint(i), "", content.MaxFile))
	}
	var names []entry
	for i := range 5000 {
		names = append(names, file(fmt.Sprintf("%05d/", i)+strings.Repeat(strings.Repeat("n", 250)+"/", 15)+"f", ""))
	}
	deep := strings.Repeat("d/", 40) + "f"
	for _, c := range []struct {
		name, want string
		bundle     []byte
	}{
		{"nothing", "ends within its index", nil},
		{"another format", "does not begin with", []byte("fettle.bundle/2\n\x00\x00\x00\x00")},
		{"no count", "ends within its index", []byte("fettle.bundle/1\n")},
		{"count beyond the bound", "more than 50000", change(16, 0xff)},
		{"count above", "ends within its index", append([]byte("fettle.bundle/1\n\x00\x00\x00\x09"), good[20:]...)},
		{"count below", "more data after its end", change(19, 2)},
		{"more behind it", "more data after its end", append(bytes.Clone(good), 0)},
		{"a second bundle behind it", "more data after its end", append(bytes.Clone(good), good...)},
		{"a byte of content", "does not match its digest", change(len(good)-1, 'z')},
		{"unsorted", "is not in the order of paths", raw(file("b", ""), file("a", ""))},
		{"twice", "is not in the order of paths", raw(file("a", "1"), file("a", "2"))},
		{"a directory", "of the type 100", raw(entry{kind: 'd', path: "a"})},
		{"setuid", "of the type 115", raw(entry{kind: 's', path: "a"})},
		{"device", "of the type 98", raw(entry{kind: 'b', path: "a"})},
		{"hard link", "of the type 104", raw(entry{kind: 'h', path: "a"})},
		{"type 0", "of the type 0", raw(entry{path: "a"})},
		{"no path", "a name of 0 bytes", raw(file("", ""))},
		{"dotdot", "lead out", raw(file("..", ""))},
		{"climbs", "lead out", raw(file("../x", ""))},
		{"climbs inside", "lead out", raw(file("a/../../x", ""))},
		{"climbs and stays", "lead out", raw(file("a/../x", ""))},
		{"absolute", "part of its path is empty", raw(file("/etc/passwd", ""))},
		{"two slashes", "part of its path is empty", raw(file("a//b", ""))},
		{"slash behind", "part of its path is empty", raw(file("a/", ""))},
		{"dot", "lead out", raw(file(".", ""))},
		{"dot in front", "lead out", raw(file("./a", ""))},
		{"dotgit", "the directory of git", raw(file(".git", ""))},
		{"dotgit config", "the directory of git", raw(file(".git/config", ""))},
		{"dotgit below", "the directory of git", raw(file("a/.git/hooks/x", ""))},
		{"dotgit in capitals", "the directory of git", raw(file(".GiT/config", ""))},
		{"dotgit with a dot", "the directory of git", raw(file(".git./config", ""))},
		{"dotgit with a blank", "the directory of git", raw(file(".git /config", ""))},
		{"dotgit as a stream", "the directory of git", raw(file(".git::$INDEX_ALLOCATION/x", ""))},
		{"dotgit in short", "the directory of git", raw(file("git~1/config", ""))},
		{"dotgit with what nobody sees", "the directory of git", raw(file(".g\u200cit/config", ""))},
		{"NUL", "control character", raw(file("a\x00b", ""))},
		{"newline", "control character", raw(file("a\nb", ""))},
		{"escape", "control character", raw(file("a\x1b[31m", ""))},
		{"no UTF-8", "not UTF-8", raw(file("a\xff", ""))},
		{"text that runs back", "invisible or misleading", raw(file("a\u202egpj.sh", ""))},
		{"long name", "longer than 255", raw(file(strings.Repeat("n", 256), ""))},
		{"long path", "a name of 5000 bytes", raw(file(strings.Repeat("n/", 2500), ""))},
		{"deep", "directories deep", raw(file(deep, ""))},
		{"twins", "differ only in case", raw(file("README", ""), file("readme", ""))},
		{"twin directories", "differ only in case", raw(file("Dir/a", ""), file("dir/b", ""))},
		{"twins of a directory and a file", "differ only in case", raw(file("A/x", ""), file("a", ""))},
		{"twins beyond ASCII", "differ only in case", raw(file("É", ""), file("é", ""))},
		{"file and directory", "is also a file in the tree", raw(file("a", ""), file("a/b", ""))},
		{"below a link", "is also a file in the tree", raw(link("a", "/etc"), file("a/passwd", ""))},
		{"link to nothing", "a name of 0 bytes", raw(link("a", ""))},
		{"link with NUL", "which is not a path", raw(link("a", "b\x00c"))},
		{"link with newline", "which is not a path", raw(link("a", "b\nc"))},
		{"link without UTF-8", "which is not a path", raw(link("a", "b\xff"))},
		{"long link", "a name of 6000 bytes", raw(link("a", strings.Repeat("x", 6000)))},
		{"size of all bits", "larger than 256 MiB", raw(sized("a", "x", 1<<64-1))},
		{"negative size", "larger than 256 MiB", raw(sized("a", "x", 1<<63))},
		{"size above the bound", "larger than 256 MiB", raw(sized("a", "x", content.MaxFile+1))},
		{"all together above the bound", "more than 2048 MiB", raw(huge...)},
		{"size above what is there", "it ends in \"a\" after 1 of 2 bytes", raw(sized("a", "x", 2))},
		{"size below what is there", "does not match its digest", raw(sized("a", "xy", 1))},
		{"another's digest", "does not match its digest", raw(entry{kind: 'f', path: "a", text: "x", sum: new([32]byte)})},
		{"too long names in all", "too long in total", raw(names...)},
	} {
		_, err := content.Parse(bytes.NewReader(c.bundle), int64(len(c.bundle)))
		if err == nil || !strings.HasPrefix(err.Error(), "cannot ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", c.name, err, c.want)
		}
	}
	for n := range good {
		if _, err := content.Parse(bytes.NewReader(good[:n]), int64(n)); err == nil {
			t.Errorf("the first %d bytes are a bundle", n)
		}
		if _, err := content.Parse(bytes.NewReader(good), int64(n)); err == nil {
			t.Errorf("said to have %d bytes it is a bundle", n)
		}
	}
	for _, size := range []int64{int64(len(good)) + 1, content.MaxBundle + 1} {
		if _, err := content.Parse(bytes.NewReader(good), size); err == nil {
			t.Errorf("said to have %d bytes it is a bundle", size)
		}
	}
	if _, err := content.Parse(endless{}, content.MaxBundle); err == nil {
		t.Error("what never ends is a bundle")
	}
}

// endless begins like a bundle and never ends.
type endless struct{}

func (endless) ReadAt(p []byte, off int64) (int, error) {
	if off == 0 {
		copy(p, "fettle.bundle/1\n\x00\x00\xc3\x50")
	}
	return len(p), nil
}

// FuzzParse: a parsed bundle is encoded as the same bytes, and its tree reads the content of the
// bundle.
func FuzzParse(f *testing.F) {
	f.Add(raw())
	f.Add(raw(file("a", "x"), link("b", "../../etc"), entry{kind: 'x', path: "c/d", text: "y"}))
	f.Add(raw(file("a", "x"), file("a.b", ""), file("a/b", "z")))
	f.Fuzz(func(t *testing.T, b []byte) {
		bundle, err := content.Parse(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		var again bytes.Buffer
		info, err := content.Pack(&again, bundle.Tree(), content.RootBundle)
		if mods := has(bundle.Tree(), "modules"); mods {
			return // a root bundle has none
		}
		if err != nil || !bytes.Equal(again.Bytes(), b) || info != bundle.Info() {
			t.Errorf("it is %q, and written again %q: %v", b, again.Bytes(), err)
		}
	})
}

func has(t repo.Tree, path string) bool { _, err := t.Stat(path); return err == nil }

// TestBundleOnABadDisk: content that changes after it was parsed is an error when it is read, never
// different content.
func TestBundleOnABadDisk(t *testing.T) {
	b := raw(file("a", "some content"))
	bundle := parse(t, b)
	b[len(b)-1] = 'X'
	if text, err := bundle.Tree().ReadFile("a"); err == nil {
		t.Errorf("it reads %q", text)
	}
	r, err := bundle.Tree().Open("a")
	if err == nil {
		_, err = io.Copy(io.Discard, r)
	}
	if err == nil || errors.Is(err, io.EOF) {
		t.Error(err)
	}
}
