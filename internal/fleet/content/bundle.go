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

// What a bundle may hold at most.
const (
	MaxFiles  = 50_000    // files and links
	MaxFile   = 256 << 20 // bytes of a file
	MaxBundle = 2 << 30   // bytes of the whole
	maxIndex  = 16 << 20  // bytes of what stands before the content
	maxText   = 4095      // bytes of a path or a link's target
)

// Top is the name of the part that is everything outside of modules/.
const Top = ""

// PartOf is the part that holds a directory of the repository: Top, or modules/NAME.
func PartOf(dir string) string {
	parts := strings.SplitN(path.Clean(dir), "/", 3)
	if len(parts) < 2 || parts[0] != "modules" {
		return Top
	}
	return parts[0] + "/" + parts[1]
}

// Parts lists the parts of a repository: Top, and its modules sorted by name.
func Parts(t repo.Tree) ([]string, error) {
	out := []string{Top}
	top, err := t.ReadDir(".")
	if err != nil {
		return nil, err
	}
	for _, e := range top {
		if e.Path != "modules" {
			continue
		}
		if e.Type != repo.Dir {
			return nil, errors.New("cannot pack the repository: modules is no directory; the modules of targets stand in it")
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

// Pack writes the bundle of one part of a repository's tree, and tells its name. The
// same part gives the same bytes wherever it is packed.
func Pack(w io.Writer, t repo.Tree, part string) (fleet.Bundle, error) {
	items, err := itemsOf(t, part)
	if err != nil {
		return fleet.Bundle{}, err
	}
	return write(w, items, func(it repo.Item) (io.ReadCloser, error) {
		return t.Open(path.Join(cmp.Or(part, "."), it.Path))
	})
}

// itemsOf lists a part, with paths relative to it.
func itemsOf(t repo.Tree, part string) ([]repo.Item, error) {
	if part != Top && (PartOf(part) != part || path.Clean(part) != part) {
		return nil, fmt.Errorf("cannot pack %.80q: a part is the top or a directory modules/NAME", part)
	}
	var out []repo.Item
	err := repo.Walk(t, cmp.Or(part, "."), func(e repo.Entry) error {
		if part == Top && strings.HasPrefix(e.Path, "modules/") {
			return nil
		}
		it, err := itemOf(t, e)
		if part != Top {
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

// write writes items that are sorted by path.
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
		err = errors.New("its content changed while it was read; run again")
	}
	return err
}

func digestText(sum []byte) string { return "sha256:" + hex.EncodeToString(sum) }

func appendIndex(b []byte, items []repo.Item) ([]byte, error) {
	b = binary.BigEndian.AppendUint32(append(b, magic...), uint32(len(items)))
	for _, it := range items {
		if len(it.Path) > maxText || len(it.Target) > maxText {
			return nil, fmt.Errorf("%.80q is longer than %d bytes, or leads to what is", it.Path, maxText)
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
			return nil, fmt.Errorf("%.80q has the digest %.80q", it.Path, it.Digest)
		}
		b = append(binary.BigEndian.AppendUint64(b, uint64(it.Size)), sum...)
	}
	return b, nil
}

func appendText(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint16(b, uint16(len(s))), s...)
}

// checkItems holds items to what a bundle may hold: bounds, order, and names that mean
// the same file nowhere. The rules for one name are the tree's.
func checkItems(items []repo.Item, size int64) error {
	if len(items) > MaxFiles || size > maxIndex {
		return fmt.Errorf("it has %d files, more than %d, or too long names", len(items), MaxFiles)
	}
	for i, it := range items {
		if i > 0 && items[i-1].Path >= it.Path {
			return fmt.Errorf("%.80q does not stand in its order", it.Path)
		}
		if it.Size < 0 || it.Size > MaxFile {
			return fmt.Errorf("%.80q has more than %d MiB; a bundle takes no larger file", it.Path, MaxFile>>20)
		}
		if it.Type == repo.File {
			size += it.Size
		}
		if size > MaxBundle {
			return fmt.Errorf("it has more than %d MiB in all", MaxBundle>>20)
		}
	}
	return checkDuplicates(items)
}

// checkDuplicates refuses names that differ in case only: somewhere they are one file.
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
				return fmt.Errorf("%.80q and %.80q differ in case only; rename one", other, p)
			}
			seen[low] = p
		}
	}
	return nil
}

// Bundle is one that was read: all of it is what its index says. It reads from where
// it was parsed, which has to stay. It is safe for concurrent use if that is.
type Bundle struct {
	info  fleet.Bundle
	items []repo.Item
	at    map[string]int64 // offset of each file
	r     io.ReaderAt
	tree  repo.Tree
}

// Info is the bundle's name.
func (b *Bundle) Info() fleet.Bundle { return b.info }

// Tree is its content, with paths relative to the part.
func (b *Bundle) Tree() repo.Tree { return b.tree }

// Parse reads a bundle of size bytes strictly and whole; its memory is bounded by
// that of the index. It computes the name, which the caller compares.
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
		return nil, errors.New("there is more behind its end")
	}
	b.info = fleet.Bundle{Digest: digestText(sum.Sum(nil)), Size: size}
	b.tree, err = repo.TreeOf(items, b.open)
	return b, err
}

// content reads the files to their end and notes where they stand.
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
			return 0, fmt.Errorf("%.80q has other content than its digest says", it.Path)
		}
		b.at[it.Path] = offset
		offset += it.Size
	}
	return offset, nil
}

func (b *Bundle) open(it repo.Item) (io.ReadCloser, error) {
	return io.NopCloser(io.NewSectionReader(b.r, b.at[it.Path], it.Size)), nil
}
