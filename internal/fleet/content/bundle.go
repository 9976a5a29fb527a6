package content

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/repo"
)

const magic = "fettle.bundle/1\n"

// Limits of a bundle.
const (
	MaxFiles  = 50_000    // files and links
	MaxFile   = 256 << 20 // bytes of a file
	MaxBundle = 2 << 30   // bytes of the whole bundle
	maxIndex  = 16 << 20  // bytes before the content
	maxText   = 4095      // bytes of a path or of the target of a link
)

// RootBundle is the name of the root bundle: the part with all files outside of modules/.
const RootBundle = ""

// PartOf returns the part that contains a directory of the repository: RootBundle, or modules/NAME.
func PartOf(dir string) string {
	parts := strings.SplitN(path.Clean(dir), "/", 3)
	if len(parts) < 2 || parts[0] != "modules" {
		return RootBundle
	}
	return parts[0] + "/" + parts[1]
}

// Parts returns the parts of a repository: RootBundle, and its modules sorted by name.
func Parts(t repo.Tree) ([]string, error) {
	out := []string{RootBundle}
	top, err := t.ReadDir(".")
	if err != nil {
		return nil, err
	}
	for _, e := range top {
		if e.Path != "modules" {
			continue
		}
		if e.Type != repo.Dir {
			return nil, errors.New(
				"cannot pack the repository: modules is not a directory. It must contain the directories of the modules")
		}
		list, err := t.ReadDir("modules")
		if err != nil {
			return nil, err
		}
		for _, m := range list {
			if m.Type == repo.Dir {
				out = append(out, m.Path)
			}
		}
	}
	return out, nil
}

// Pack writes the bundle of one part of a repository's tree, and returns its digest and size. The
// same part always has the same bytes.
func Pack(w io.Writer, t repo.Tree, part string) (fleet.Bundle, error) {
	items, err := itemsOf(t, part)
	if err != nil {
		return fleet.Bundle{}, err
	}
	return write(w, items, func(it repo.Item) (io.ReadCloser, error) {
		return t.Open(path.Join(cmp.Or(part, "."), it.Path))
	})
}

// RootOf returns the part of a repository's tree that the root bundle contains. The tree must stay open.
func RootOf(t repo.Tree) (repo.Tree, error) {
	items, err := itemsOf(t, RootBundle)
	if err != nil {
		return nil, err
	}
	return repo.TreeOf(items, func(it repo.Item) (io.ReadCloser, error) { return t.Open(it.Path) })
}

// itemsOf lists a part, with paths relative to it.
func itemsOf(t repo.Tree, part string) ([]repo.Item, error) {
	if part != RootBundle && (PartOf(part) != part || path.Clean(part) != part) {
		return nil, fmt.Errorf("cannot pack %.80q: a part is the root bundle or a directory modules/NAME", part)
	}
	var out []repo.Item
	err := repo.Walk(t, cmp.Or(part, "."), func(e repo.Entry) error {
		if part == RootBundle && strings.HasPrefix(e.Path, "modules/") {
			return nil
		}
		it, err := itemOf(t, e)
		if part != RootBundle {
			it.Path = strings.TrimPrefix(e.Path, part+"/")
		}
		out = append(out, it)
		return err
	})
	return out, err
}

func itemOf(t repo.Tree, e repo.Entry) (it repo.Item, err error) {
	it = repo.Item{Path: e.Path, Type: e.Type, Exec: e.Exec, Size: e.Size}
	if e.Type == repo.Symlink {
		it.Exec = false
		it.Target, err = t.Readlink(e.Path)
		return it, err
	}
	it.Digest, it.Size, err = t.Digest(e.Path)
	return it, err
}

// write writes items, which must be sorted by path.
func write(w io.Writer, items []repo.Item, open func(repo.Item) (io.ReadCloser, error)) (fleet.Bundle, error) {
	index, err := appendIndex(nil, items)
	if err == nil {
		err = checkItems(items, int64(len(index)))
	}
	if err != nil {
		return fleet.Bundle{}, fmt.Errorf("cannot pack: %w", err)
	}
	sum := sha256.New()
	out := io.MultiWriter(w, sum)
	if _, err := out.Write(index); err != nil {
		return fleet.Bundle{}, err
	}
	size := int64(len(index))
	for _, it := range items {
		if it.Type != repo.File {
			continue
		}
		if err := copyItem(out, it, open); err != nil {
			return fleet.Bundle{}, fmt.Errorf("cannot pack %q: %w", it.Path, err)
		}
		size += it.Size
	}
	return fleet.Bundle{Digest: digestText(sum.Sum(nil)), Size: size}, nil
}

func copyItem(w io.Writer, it repo.Item, open func(repo.Item) (io.ReadCloser, error)) error {
	r, err := open(it)
	if err != nil {
		return err
	}
	defer r.Close()
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(w, sum), io.LimitReader(r, it.Size+1))
	if err == nil && (n != it.Size || digestText(sum.Sum(nil)) != it.Digest) {
		err = errors.New("its content changed while it was read. Retry")
	}
	return err
}

func digestText(sum []byte) string { return "sha256:" + hex.EncodeToString(sum) }

func appendIndex(b []byte, items []repo.Item) ([]byte, error) {
	b = binary.BigEndian.AppendUint32(append(b, magic...), uint32(len(items)))
	for _, it := range items {
		if len(it.Path) > maxText || len(it.Target) > maxText {
			return nil, fmt.Errorf("the path %.80q, or the target of this link, is longer than %d bytes", it.Path, maxText)
		}
		kind := byte('f')
		switch {
		case it.Type == repo.Symlink:
			kind = 'l'
		case it.Exec:
			kind = 'x'
		}
		b = appendText(append(b, kind), it.Path)
		if kind == 'l' {
			b = appendText(b, it.Target)
			continue
		}
		sum, err := hex.DecodeString(strings.TrimPrefix(it.Digest, "sha256:"))
		if err != nil || len(sum) != sha256.Size {
			return nil, fmt.Errorf("%.80q has the invalid digest %.80q", it.Path, it.Digest)
		}
		b = append(binary.BigEndian.AppendUint64(b, uint64(it.Size)), sum...)
	}
	return b, nil
}

func appendText(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint16(b, uint16(len(s))), s...)
}

// checkItems checks the limits of a bundle, the order of its paths, and that no two paths can be
// the same file on any system. repo.TreeOf checks single names.
func checkItems(items []repo.Item, size int64) error {
	if len(items) > MaxFiles || size > maxIndex {
		return fmt.Errorf("it has %d files (the maximum is %d), or its names are too long", len(items), MaxFiles)
	}
	for i, it := range items {
		if i > 0 && items[i-1].Path >= it.Path {
			return fmt.Errorf("%.80q is not in the order of paths", it.Path)
		}
		if it.Size < 0 || it.Size > MaxFile {
			return fmt.Errorf("%.80q is larger than %d MiB, the maximum for a file of a bundle", it.Path, MaxFile>>20)
		}
		if it.Type == repo.File {
			size += it.Size
		}
		if size > MaxBundle {
			return fmt.Errorf("it has more than %d MiB in total", MaxBundle>>20)
		}
	}
	return checkDuplicates(items)
}

// checkDuplicates refuses names that differ only in case: some file systems treat them as one file.
func checkDuplicates(items []repo.Item) error {
	seen := map[string]string{}
	for _, it := range items {
		for p := it.Path; p != "." && p != "/"; p = path.Dir(p) {
			low := strings.ToLower(p)
			other, known := seen[low]
			if known && other == p {
				break
			}
			if known {
				return fmt.Errorf("%.80q and %.80q differ only in case. Rename one of them", other, p)
			}
			seen[low] = p
		}
	}
	return nil
}

// Bundle is a parsed bundle whose content matches its index. It reads from the reader that it was
// parsed from, which must stay open. It is safe for concurrent use if that reader is.
type Bundle struct {
	info  fleet.Bundle
	items []repo.Item
	at    map[string]int64 // offset of each file
	r     io.ReaderAt
	tree  repo.Tree
}

// Info returns the digest and the size of the bundle.
func (b *Bundle) Info() fleet.Bundle { return b.info }

// Tree returns the content, with paths relative to the part.
func (b *Bundle) Tree() repo.Tree { return b.tree }

// Parse parses a whole bundle of size bytes. Its memory is limited by the maximum size of the
// index. It computes the digest; the caller must compare it with the expected one.
func Parse(r io.ReaderAt, size int64) (*Bundle, error) {
	b, err := parse(r, size)
	if err != nil {
		return nil, fmt.Errorf("cannot read a bundle: %w", err)
	}
	return b, nil
}

func parse(r io.ReaderAt, size int64) (*Bundle, error) {
	if size > MaxBundle {
		return nil, fmt.Errorf("it has %d bytes, more than %d MiB", size, MaxBundle>>20)
	}
	sum := sha256.New()
	in := bufio.NewReaderSize(io.TeeReader(io.NewSectionReader(r, 0, size), sum), 64<<10)
	x := indexReader{in: in}
	items := x.items()
	if x.err != nil {
		return nil, x.err
	}
	if err := checkItems(items, x.read); err != nil {
		return nil, err
	}
	b := &Bundle{items: items, at: map[string]int64{}, r: r}
	end, err := b.content(in, x.read)
	if err != nil {
		return nil, err
	}
	if _, err := in.ReadByte(); err != io.EOF || end != size {
		return nil, errors.New("it has more data after its end")
	}
	b.info = fleet.Bundle{Digest: digestText(sum.Sum(nil)), Size: size}
	b.tree, err = repo.TreeOf(items, b.open)
	return b, err
}

// content reads all files, verifies their digests, and records their offsets.
func (b *Bundle) content(in io.Reader, offset int64) (end int64, err error) {
	for _, it := range b.items {
		if it.Type != repo.File {
			continue
		}
		sum := sha256.New()
		if n, err := io.CopyN(sum, in, it.Size); err != nil {
			return 0, fmt.Errorf("it ends in %.80q after %d of %d bytes: %w", it.Path, n, it.Size, err)
		}
		if digestText(sum.Sum(nil)) != it.Digest {
			return 0, fmt.Errorf("the content of %.80q does not match its digest", it.Path)
		}
		b.at[it.Path] = offset
		offset += it.Size
	}
	return offset, nil
}

func (b *Bundle) open(it repo.Item) (io.ReadCloser, error) {
	return io.NopCloser(io.NewSectionReader(b.r, b.at[it.Path], it.Size)), nil
}
