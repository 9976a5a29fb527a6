package fidelity

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// kinds of things; the names are those that lists choose by.
const (
	file    = "file"
	dir     = "dir"
	link    = "link"
	other   = "other" // fifo, socket, device
	deepest = 3
)

// thing is one planted path.
type thing struct {
	path  string // below the root
	kind  string
	fixed bool // immutable or append-only
	many  bool // has more names than one
	text  bool // a file that EDIT can work on
}

// planter plants a random tree. It keeps the order: parents first.
type planter struct {
	*rand.Rand
	root   string
	fs     filesystem
	things []*thing
	late   []func() error // what keeps others from working in a directory
	tally  map[string]int
}

func (g *planter) oneIn(n int) bool { return g.IntN(n) == 0 }

func pick[T any](g *rand.Rand, from ...T) T { return from[g.IntN(len(from))] }

func (g *planter) name(i int) string {
	odd := []string{"\xff\xfe\x80", "n\nl", "-rf", "c d", `q"'\`, "ünï", ".hidden", "tab\t", "back~", "*", "a=b", "#c",
		"\x7f", "x.conf"}
	switch {
	case g.oneIn(3):
		return fmt.Sprintf("%s%d", odd[g.IntN(len(odd))], i)
	case g.oneIn(12):
		return strings.Repeat(string(rune('a'+i%26)), 255)
	}
	return fmt.Sprintf("%c%d", 'a'+rune(i%26), i)
}

// plant makes the tree at rel, which is there.
func (g *planter) plant(rel string, depth int) error {
	n := 1 + g.IntN(6)
	if depth == 0 {
		n += 5
	}
	for i := range n {
		t := &thing{path: rel + "/" + g.name(i)}
		if err := g.one(t, depth); err != nil {
			return fmt.Errorf("%q: %w", t.path, err)
		}
	}
	return nil
}

func (g *planter) one(t *thing, depth int) error {
	p := filepath.Join(g.root, t.path)
	g.things = append(g.things, t)
	switch k := g.IntN(20); {
	case k < 8:
		t.kind = file
		if err := g.content(p, t); err != nil {
			return err
		}
	case k < 12:
		t.kind = dir
		if err := os.Mkdir(p, 0o755); err != nil {
			return err
		}
		if depth < deepest && !g.oneIn(4) {
			if err := g.plant(t.path, depth+1); err != nil {
				return err
			}
		}
	case k < 15:
		t.kind = link
		to := pick(g.Rand, "a0", "/nowhere/at/all", "../..", "/t", ".", "\xff", strings.Repeat("long/", 800))
		if g.fs.name != "ext4" && len(to) > 1000 { // xfs has 1024
			to = to[:1000]
		}
		if err := os.Symlink(to, p); err != nil {
			return err
		}
	case k < 18:
		t.kind = other
		if err := g.special(p); err != nil {
			return err
		}
	default:
		return g.hardLink(t, p)
	}
	g.tally[t.kind]++
	if t.kind == dir { // others still work in the directories above it
		g.late = append(g.late, func() error { return g.dress(p, t) })
		return nil
	}
	return g.dress(p, t)
}

func (g *planter) special(p string) error {
	switch g.IntN(4) {
	case 0:
		return unix.Mknod(p, unix.S_IFIFO|0o644, 0)
	case 1:
		return unix.Mknod(p, unix.S_IFSOCK|0o755, 0)
	case 2:
		return unix.Mknod(p, unix.S_IFCHR|0o620, int(unix.Mkdev(uint32(g.IntN(300)), uint32(g.IntN(70_000)))))
	}
	return unix.Mknod(p, unix.S_IFBLK|0o660, int(unix.Mkdev(uint32(g.IntN(300)), uint32(g.IntN(70_000)))))
}

// hardLink gives something that is there one more name; a directory cannot have
// one, nor can what is fixed.
func (g *planter) hardLink(t *thing, p string) error {
	old := g.things[g.IntN(len(g.things))]
	if old == t || old.kind == dir || old.fixed || old.kind == "" {
		t.kind = file
		if err := g.content(p, t); err != nil {
			return err
		}
		g.tally[file]++
		return g.dress(p, t)
	}
	t.kind, t.many, old.many = old.kind, true, true
	g.tally["hard link"]++
	return os.Link(filepath.Join(g.root, old.path), p)
}

// content writes a file: text, nothing, all sizes around blocks, holes, and now
// and then what is larger than every buffer.
func (g *planter) content(p string, t *thing) error {
	f, err := os.OpenFile(p, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	switch k := g.IntN(120); {
	case k < 25:
	case k < 60:
		t.text = true
		_, err = f.WriteString(pick(g.Rand, "one\n", "one\ntwo", "x = 1\n# c\n", "\n", "one\r\ntwo\r\n", "\xff\xfe\n"))
	case k < 95:
		_, err = f.Write(g.bytes(pick(g.Rand, 1, 511, 4095, 4096, 4097, 65535, 65536, 65537, 100_001)))
	case k < 119:
		g.tally["sparse"]++
		err = g.sparse(f)
	default:
		g.tally["large"]++
		_, err = f.Write(g.bytes(9<<20 + 17))
	}
	return errors.Join(err, f.Close())
}

// bytes are without zeros, which could not be told from holes.
func (g *planter) bytes(n int) []byte {
	b := make([]byte, n)
	for i := 0; i+8 <= n; i += 8 {
		binary.LittleEndian.PutUint64(b[i:], g.Uint64()|0x0101010101010101)
	}
	for i := n &^ 7; i < n; i++ {
		b[i] = 'z'
	}
	return b
}

func (g *planter) sparse(f *os.File) error {
	size := int64(g.IntN(1 << 20))
	for range g.IntN(4) {
		off := int64(g.IntN(200)) * 4096
		b := g.bytes(4096 * (1 + g.IntN(3)))
		if _, err := f.WriteAt(b, off); err != nil {
			return err
		}
		size = max(size, off+int64(len(b)))
	}
	return f.Truncate(size)
}
