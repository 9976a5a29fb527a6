// Package listcache stores the list of a committed revision, so that an unchanged commit is not
// compiled again. design/0007-list-cache.md has the reasons.
//
//	dir := listcache.Dir{FS: state}
//	k := listcache.Key{Program: build, Tree: rev.Digest, Target: "web1", Facts: facts}
//	kept, ok := dir.Find(k)      // its digest; dir.Result(kept, tree) has the rest
//	if !ok { res, ds = compile.Compile(…); _ = dir.Keep(tree, k, res) }
//
// A list is used only if the digest of its file is valid and all inputs are unchanged: the program,
// the content of the whole tree, the target, the variables, and the facts that the repository
// declares. If a file is invalid, the caller compiles the list.
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
	// largest is the maximum size of a file in bytes; larger files are ignored.
	largest = 256 << 20
	// most is the maximum number of files. Before it is exceeded, all other files are removed.
	most = 1000
)

// Dir is the cache in a state directory, to which only its owner may write. Its files are not synced
// to the disk.
type Dir struct {
	FS host.FS
	// Program identifies this build of fettle, not only its release. Files of other builds are
	// ignored.
	Program string
}

// Load reads the body that Save wrote under a name. It returns nil if the file is missing or damaged.
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

// readAll reads a file completely; it returns nil on an error.
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

// Save writes body under a name and replaces an earlier body.
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

// path returns the file for a name, which can contain any characters.
func (d Dir) path(name string) string {
	sum := sha256.Sum256([]byte(name))
	return path.Join(directory, hex.EncodeToString(sum[:16]))
}

// makeRoom empties the cache if it would otherwise exceed its limit.
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
