package repo

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash/crc32"
	"path"
	"slices"
	"strings"
)

// look is one recorded tree, with the stamps that show whether it is unchanged. It is checked in
// its encoded form, and decoded to nodes only when needed.
//
//	look:   "FETTLETREE2\n"  crc32c u32 of the rest  len u32  head (JSON)  directory*
//	directory: len u32 of the rest  len u16  path  stamp  count u32  entry*
//	entry:  len u8  name  kind u8  stamp  more           (little endian)
//	more:   of a file: len u8  git's name of it  sha256 [32]
//	        of a link: len u8  git's name of it  len u16  target
//	        of a file that is only watched: nothing
type look struct {
	lookHead
	directories []string // as above, without their length
	text        string   // all of it, from the head's length on
}

const (
	lookMagic = "FETTLETREE2\n"
	lookStart = len(lookMagic) + 4 // start of the part that the checksum covers
)

// lookHead describes the subject of a look.
type lookHead struct {
	Look     bool      // the tree is unchanged as long as the stamps are the same
	Origin   origin    // where it was read
	Asked    string    // of a commit: the object of the branch or tag; "" for work trees
	Revision Revision  // the answer
	Limits   Limits    // the limits that it complied with
	Git      []gitFile // files that git's answers depend on
}

// origin is the repository of a record.
type origin struct {
	Top, GitDir, Exe, Hash string
}

const (
	kindFile byte = iota
	kindExec
	kindLink
	kindWatched
)

// trace is a node with its stamp on disk, the zero stamp when it is not known
// or not to be trusted. Without a node it is a file that is only watched.
type trace struct {
	path  string
	stamp stamp
	node  *node
}

// encode writes a record. directories has the stamps of watched directories.
func encode(h lookHead, traces []trace, directories map[string]stamp) []byte {
	byDirectory := map[string][]trace{}
	for dir := range directories {
		byDirectory[dir] = nil
	}
	for _, t := range traces {
		dir := path.Dir(t.path)
		byDirectory[dir] = append(byDirectory[dir], t)
	}
	names := make([]string, 0, len(byDirectory))
	for dir := range byDirectory {
		names = append(names, dir)
	}
	slices.Sort(names)
	text, err := json.Marshal(h)
	if err != nil {
		return nil
	}
	le := binary.LittleEndian
	b := make([]byte, lookStart, lookStart+4+len(text)+128*(len(traces)+len(names)))
	copy(b, lookMagic)
	b = append(le.AppendUint32(b, uint32(len(text))), text...)
	for _, dir := range names {
		at := len(b)
		b = appendDirectory(append(b, 0, 0, 0, 0), dir, directories[dir], byDirectory[dir])
		le.PutUint32(b[at:], uint32(len(b)-at-4))
	}
	le.PutUint32(b[len(lookMagic):], crc32.Checksum(b[lookStart:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

func appendDirectory(b []byte, dir string, s stamp, traces []trace) []byte {
	le := binary.LittleEndian
	b = append(le.AppendUint16(b, uint16(len(dir))), dir...)
	b = le.AppendUint32(s.append(b), uint32(len(traces)))
	slices.SortFunc(traces, func(a, b trace) int { return cmp.Compare(a.path, b.path) })
	for _, t := range traces {
		name := path.Base(t.path)
		b = append(append(b, byte(len(name))), name...)
		b = t.append(b)
	}
	return b
}

func (t trace) append(b []byte) []byte {
	n := t.node
	if n == nil {
		return t.stamp.append(append(b, kindWatched))
	}
	kind := kindFile
	switch {
	case n.Type == Symlink:
		kind = kindLink
	case n.Exec:
		kind = kindExec
	}
	s := t.stamp
	s.size = n.Size
	b = s.append(append(b, kind))
	id, _ := hex.DecodeString(n.id)
	b = append(append(b, byte(len(id))), id...)
	if kind == kindLink {
		return append(binary.LittleEndian.AppendUint16(b, uint16(len(n.target))), n.target...)
	}
	sum, _ := hex.DecodeString(strings.TrimPrefix(n.digest, "sha256:"))
	return append(b, sum...)
}

var errLook = errors.New("cannot read the cache of a tree: it is damaged")

// parseLook reads the output of encode; it returns nil for any other input.
func parseLook(b []byte) *look {
	if len(b) < lookStart || string(b[:len(lookMagic)]) != lookMagic {
		return nil
	}
	if crc32.Checksum(b[lookStart:], crc32.MakeTable(crc32.Castagnoli)) != binary.LittleEndian.Uint32(b[len(lookMagic):]) {
		return nil
	}
	r := reader{rest: string(b[lookStart:])}
	l := &look{text: r.rest}
	if err := json.Unmarshal([]byte(r.take(int(r.u32()))), &l.lookHead); err != nil {
		return nil
	}
	for r.rest != "" && !r.bad {
		l.directories = append(l.directories, r.take(int(r.u32())))
	}
	if r.bad {
		return nil
	}
	return l
}

// readDirectory reads the header of one directory.
func readDirectory(text string) (dir string, s stamp, count int, r reader) {
	r.rest = text
	dir = r.take(int(r.u16()))
	return dir, r.stamp(), int(r.u32()), r
}

// entry is one encoded file of a directory.
type entry struct {
	name  string
	kind  byte
	stamp stamp
	id    string // raw bytes
	more  string // raw digest, or the target
}

func (r *reader) entry() entry {
	e := entry{name: r.take(int(r.u8())), kind: r.u8(), stamp: r.stamp()}
	switch e.kind {
	case kindFile, kindExec:
		e.id, e.more = r.take(int(r.u8())), r.take(32)
	case kindLink:
		e.id = r.take(int(r.u8()))
		e.more = r.take(int(r.u16()))
	case kindWatched:
	default:
		r.bad = true
	}
	return e
}

func (e entry) node(dir string) *node {
	n := &node{Entry: Entry{Path: path.Join(dir, e.name), Exec: e.kind == kindExec, Size: e.stamp.size},
		id: hex.EncodeToString([]byte(e.id))}
	if e.kind == kindLink {
		n.Type, n.target = Symlink, e.more
		return n
	}
	n.digest = "sha256:" + hex.EncodeToString([]byte(e.more))
	return n
}

// each calls fn for every entry until fn returns false. It reports whether the whole record was
// readable.
func (l *look) each(fn func(dir string, e entry) bool) bool {
	for _, text := range l.directories {
		dir, _, count, r := readDirectory(text)
		for ; count > 0 && !r.bad; count-- {
			e := r.entry()
			if !r.bad && !fn(dir, e) {
				return true
			}
		}
		if r.bad {
			return false
		}
	}
	return true
}

// nodes are the files and links of the tree.
func (l *look) nodes() ([]*node, error) {
	var list []*node
	ok := l.each(func(dir string, e entry) bool {
		if e.kind != kindWatched {
			list = append(list, e.node(dir))
		}
		return true
	})
	if !ok {
		return nil, errLook
	}
	return list, nil
}

// find is the file or link at a clean path, nil when there is none.
func (l *look) find(p string) *node {
	want, name := path.Dir(p), path.Base(p)
	for _, text := range l.directories {
		dir, _, count, r := readDirectory(text)
		for ; dir == want && count > 0 && !r.bad; count-- {
			if e := r.entry(); e.name == name && e.kind != kindWatched && !r.bad {
				return e.node(dir)
			}
		}
	}
	return nil
}

// reader takes bytes from the front; bad when there were not enough.
type reader struct {
	rest string
	bad  bool
}

func (r *reader) take(n int) string {
	if n < 0 || n > len(r.rest) {
		r.bad, r.rest = true, ""
		return ""
	}
	s := r.rest[:n]
	r.rest = r.rest[n:]
	return s
}

func (r *reader) u8() byte {
	if s := r.take(1); s != "" {
		return s[0]
	}
	return 0
}

func (r *reader) number(n int) (v uint64) {
	s := r.take(n)
	for i := len(s) - 1; i >= 0; i-- {
		v = v<<8 | uint64(s[i])
	}
	return v
}

func (r *reader) u16() uint16 { return uint16(r.number(2)) }
func (r *reader) u32() uint32 { return uint32(r.number(4)) }
func (r *reader) u64() uint64 { return r.number(8) }

func (r *reader) stamp() stamp {
	s := stamp{dev: r.u64(), ino: r.u64(), size: int64(r.u64()), mtime: int64(r.u64()), ctime: int64(r.u64())}
	s.mode = r.u32()
	return s
}
