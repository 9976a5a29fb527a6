package lookcache

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
)

var le = binary.LittleEndian

// Path is a path that lstat can verify.
type Path struct {
	Path string
	Stat host.Stat // type Absent: the path did not exist
	// Sum is the SHA-256 of the content of a regular file.
	Sum [sha256.Size]byte
	// Loose reports that only the type, mode and owner of a directory count, not the times of its
	// entries.
	Loose bool
	// Witness tells SetPaths that the path itself is not managed, but its content is used. It is not
	// stored.
	Witness bool
}

// Racy reports whether the path changed so shortly before now that its times may not show a later
// change.
func (p Path) Racy(now time.Time) bool {
	return p.Stat.Type != image.Absent && !p.Loose && now.UnixNano()-p.Stat.CTime < int64(grain)
}

// SetPaths reads the stats of the paths again and stores them. If sure returns false for a path,
// SetPaths stores nothing and returns false. sure sets the Sum of a regular file.
func (m *Memory) SetPaths(r host.Reader, paths []Path, sure func(*Path) bool) bool {
	sorted := slices.Clone(paths)
	slices.SortFunc(sorted, func(a, b Path) int {
		ad, an := host.SplitPath(a.Path)
		bd, bn := host.SplitPath(b.Path)
		return cmp.Or(strings.Compare(ad, bd), strings.Compare(an, bn))
	})
	var out []byte
	for len(sorted) > 0 {
		dir, _ := host.SplitPath(sorted[0].Path)
		n := 1
		for n < len(sorted) && inDir(sorted[n].Path, dir) {
			n++
		}
		if !lookAgain(r, dir, sorted[:n], sure) {
			return false
		}
		out = appendDir(out, dir, sorted[:n])
		sorted = sorted[n:]
	}
	m.paths = out
	return true
}

// lookAgain sets the stats of the paths in one directory.
func lookAgain(r host.Reader, dir string, paths []Path, sure func(*Path) bool) bool {
	names := make([]string, len(paths))
	for i, p := range paths {
		_, names[i] = host.SplitPath(p.Path)
	}
	ok := true
	host.LstatEach(r, dir, names, func(i int, st host.Stat, err error) bool {
		p := &paths[i]
		switch {
		case errors.Is(err, fs.ErrNotExist) || host.IsNotDir(err):
			p.Stat = host.Stat{Type: image.Absent}
		case err != nil:
			ok = false
			return false
		default:
			p.Stat = st
			p.Stat.ATime = 0
		}
		ok = sure(p)
		return ok
	})
	return ok
}

func inDir(p, dir string) bool {
	d, _ := host.SplitPath(p)
	return d == dir
}

// A directory is its length in bytes without this number, its name, the number
// of its paths and the paths: name, type, stat, digest.
//
//	dir:  bytes u32  len u32 name  count u32  path*
//	path: len u16 name  type u8  loose u8  mode u32 uid u32 gid u32  dev ino size mtime ctime nlink rdev u64  [sha256]
func appendDir(b []byte, dir string, paths []Path) []byte {
	at := len(b)
	b = le.AppendUint32(b, 0)
	b = append(le.AppendUint32(b, uint32(len(dir))), dir...)
	b = le.AppendUint32(b, uint32(len(paths)))
	for _, p := range paths {
		_, name := host.SplitPath(p.Path)
		b = append(le.AppendUint16(b, uint16(len(name))), name...)
		b = append(b, typeCode(p.Stat.Type), flag(p.Loose))
		for _, v := range []uint32{p.Stat.Mode, p.Stat.UID, p.Stat.GID} {
			b = le.AppendUint32(b, v)
		}
		for _, v := range numbers(&p.Stat) {
			b = le.AppendUint64(b, v)
		}
		if p.Stat.Type == image.Regular {
			b = append(b, p.Sum[:]...)
		}
	}
	le.PutUint32(b[at:], uint32(len(b)-at-4))
	return b
}

func numbers(st *host.Stat) [7]uint64 {
	return [7]uint64{st.Dev, st.Ino, uint64(st.Size), uint64(st.MTime), uint64(st.CTime), st.Nlink, st.Rdev}
}

func flag(v bool) byte {
	if v {
		return 1
	}
	return 0
}

func types() []image.FileType {
	return []image.FileType{image.Absent, image.Regular, image.Directory, image.Symlink, image.Fifo, image.Socket,
		image.CharDev, image.BlockDev}
}

func typeCode(t image.FileType) byte { return byte(slices.Index(types(), t)) }

const fixedPath = 2 + 3*4 + 7*8

// one is one directory of the stored observation, with sorted names.
type one struct {
	dir   string
	names []string
	paths []Path
}

// next decodes the first directory of b.
func next(b []byte) (d one, rest []byte, ok bool) {
	if len(b) < 12 {
		return d, nil, false
	}
	n := int(le.Uint32(b))
	if n > len(b)-4 {
		return d, nil, false
	}
	b, rest = b[4:4+n], b[4+n:]
	l := int(le.Uint32(b))
	if len(b) < 8 || l > len(b)-8 {
		return d, nil, false
	}
	d.dir = string(b[4 : 4+l])
	count := int(le.Uint32(b[4+l:]))
	b = b[8+l:]
	if count > len(b)/fixedPath {
		return d, nil, false
	}
	d.names, d.paths = make([]string, count), make([]Path, count)
	for i := range count {
		if b, ok = d.read(i, b); !ok {
			return d, nil, false
		}
	}
	return d, rest, len(b) == 0
}

func (d *one) read(i int, b []byte) ([]byte, bool) {
	if len(b) < 2 || len(b) < 2+int(le.Uint16(b))+fixedPath {
		return nil, false
	}
	l := int(le.Uint16(b))
	d.names[i] = string(b[2 : 2+l])
	b = b[2+l:]
	kinds := types()
	if int(b[0]) >= len(kinds) {
		return nil, false
	}
	p := &d.paths[i]
	p.Loose = b[1] == 1
	st := &p.Stat
	st.Type = kinds[b[0]]
	st.Mode, st.UID, st.GID = le.Uint32(b[2:]), le.Uint32(b[6:]), le.Uint32(b[10:])
	v := func(k int) uint64 { return le.Uint64(b[14+8*k:]) }
	st.Dev, st.Ino, st.Size, st.MTime, st.CTime, st.Nlink, st.Rdev = v(0), v(1), int64(v(2)), int64(v(3)), int64(v(4)),
		v(5), v(6)
	b = b[fixedPath:]
	if st.Type == image.Regular {
		if len(b) < sha256.Size {
			return nil, false
		}
		p.Sum, b = [sha256.Size]byte(b), b[sha256.Size:]
	}
	return b, true
}

var errOther = errors.New("it is not as it was")

// Still reports whether all paths are unchanged. With verify, it also reads the content of all regular
// files.
func (m *Memory) Still(ctx context.Context, r host.Reader, verify bool) bool {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	b := m.paths
	for len(b) > 0 {
		d, rest, ok := next(b)
		if !ok {
			g.Go(func() error { return errOther })
			break
		}
		b = rest
		g.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return d.still(r, verify)
		})
	}
	return g.Wait() == nil
}

func (d *one) still(r host.Reader, verify bool) error {
	var bad error
	host.LstatEach(r, d.dir, d.names, func(i int, st host.Stat, err error) bool {
		if !d.paths[i].matches(st, err) {
			bad = errOther
		}
		return bad == nil
	})
	if bad != nil || !verify {
		return bad
	}
	for i, p := range d.paths {
		if p.Stat.Type != image.Regular {
			continue
		}
		if err := p.sameContent(r, host.JoinPath(d.dir, d.names[i])); err != nil {
			return err
		}
	}
	return nil
}

func (p *Path) matches(st host.Stat, err error) bool {
	if p.Stat.Type == image.Absent {
		return errors.Is(err, fs.ErrNotExist) || host.IsNotDir(err)
	}
	if err != nil {
		return false
	}
	if p.Loose {
		return st.Type == p.Stat.Type && st.Mode == p.Stat.Mode && st.UID == p.Stat.UID && st.GID == p.Stat.GID
	}
	st.ATime = p.Stat.ATime
	return st == p.Stat
}

func (p *Path) sameContent(r host.Reader, path string) error {
	f, err := r.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	if [sha256.Size]byte(h.Sum(nil)) != p.Sum {
		return errOther
	}
	return nil
}
