// Package listcache keeps the list that a committed revision compiled to, so
// that an unchanged commit is not compiled again. design/0007-list-cache.md
// has the reasons.
//
//	dir := listcache.Dir{FS: state}
//	k := listcache.Key{Program: build, Tree: rev.Digest, Target: "web1", Facts: facts}
//	kept, ok := dir.Find(k)      // its digest; dir.Result(kept, tree) has the rest
//	if !ok { res, ds = compile.Compile(…); _ = dir.Keep(tree, k, res) }
//
// A list is used only when the digest of the file is right and every input is
// as it was: the program, the content of the whole tree, the target, the
// variables, and the facts that the repository declares. It is only ever a
// saving: whatever is wrong with a file, the answer is to compile.
//
//	file: "FETTLECACHE2\n"  sha256 [32] of the program's name, a NUL and the body  body
package listcache

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"path"

	"fettle.dev/fettle/internal/host"
)

const (
	magic     = "FETTLECACHE2\n"
	directory = "/cache/lists"
	// largest is how much of a file is believed, in bytes.
	largest = 256 << 20
	// most is how many files there may be; one more, and all others go.
	most = 1000
)

// Dir is the cache in a state directory, which nobody but its owner may write
// to. Nothing in it is made durable.
type Dir struct {
	FS host.FS
	// Program names this build of fettle, not only its release. What another
	// one wrote is not believed.
	Program string
}

// Load reads what Save wrote under a name; nil when there is nothing or it is
// damaged.
func (d Dir) Load(name string) []byte {
	f, err := d.FS.Open(d.path(name))
	if err != nil {
		return nil
	}
	defer f.Close()
	b := readAll(f)
	if len(b) < len(magic)+sha256.Size || string(b[:len(magic)]) != magic {
		return nil
	}
	sum, body := b[len(magic):len(magic)+sha256.Size], b[len(magic)+sha256.Size:]
	if !bytes.Equal(d.sum(body), sum) {
		return nil
	}
	return body
}

// readAll reads a file in one piece, nil where that fails.
func readAll(f host.File) []byte {
	st, err := f.Stat()
	if err != nil || st.Size < 0 || st.Size > largest {
		return nil
	}
	b := make([]byte, st.Size)
	if _, err := io.ReadFull(f, b); err != nil {
		return nil
	}
	return b
}

func (d Dir) sum(body []byte) []byte {
	h := sha256.New()
	io.WriteString(h, d.Program+"\x00")
	h.Write(body)
	return h.Sum(nil)
}

// Save writes body under a name in place of what was there.
func (d Dir) Save(name string, body []byte) error {
	for _, dir := range []string{path.Dir(directory), directory} {
		if err := d.FS.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	file := d.path(name)
	if err := d.makeRoom(path.Base(file)); err != nil {
		return err
	}
	temp := file + ".new"
	if err := d.FS.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	w, err := d.FS.Create(temp)
	if err != nil {
		return err
	}
	_, err = w.Write(append([]byte(magic), d.sum(body)...))
	if err == nil {
		_, err = w.Write(body)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return err
	}
	return d.FS.Rename(temp, file)
}

// path is where a name is kept; names may hold anything.
func (d Dir) path(name string) string {
	sum := sha256.Sum256([]byte(name))
	return path.Join(directory, hex.EncodeToString(sum[:16]))
}

// makeRoom empties the cache before it grows above its bound.
func (d Dir) makeRoom(keep string) error {
	names, err := d.FS.ReadDir(directory)
	if err != nil || len(names) < most {
		return err
	}
	for _, n := range names {
		if n != keep {
			if err := d.FS.Remove(path.Join(directory, n)); err != nil {
				return err
			}
		}
	}
	return nil
}
