package repo

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// record is one entry of a listing before it is judged.
type record struct {
	mode, typ, id, path string
	size                int64
}

// scanRecords splits what git prints with -z. A record is limited, so that a
// hostile name cannot fill the memory.
func scanRecords(r io.Reader, fn func(string) error) error {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 64<<10), 1<<20)
	s.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		for i, c := range data {
			if c == 0 {
				return i + 1, data[:i], nil
			}
		}
		if atEOF && len(data) > 0 {
			return 0, nil, io.ErrUnexpectedEOF
		}
		return 0, nil, nil
	})
	for s.Scan() {
		if err := fn(s.Text()); err != nil {
			return err
		}
	}
	if errors.Is(s.Err(), bufio.ErrTooLong) {
		return errors.New("cannot use repository: it contains a name of more than 1 MiB")
	}
	return s.Err()
}

// parseRecord reads "100644 blob ID    SIZE\tPATH" of ls-tree -l.
func parseRecord(line string) (record, error) {
	meta, path, ok := strings.Cut(line, "\t")
	f := strings.Fields(meta)
	if !ok || len(f) != 4 {
		return record{}, fmt.Errorf("cannot read tree: git answered %q", shorten(line))
	}
	rec := record{mode: f[0], typ: f[1], id: f[2], path: path}
	if f[3] != "-" {
		n, err := strconv.ParseInt(f[3], 10, 64)
		if err != nil {
			return record{}, fmt.Errorf("cannot read tree: git answered %q", shorten(line))
		}
		rec.size = n
	}
	return rec, nil
}

// treeReader checks the entries of a listing, including directories, while it is read. It stops at
// a tree that is too large or too deep before the whole tree is printed.
type treeReader struct {
	tally       tally
	nodes       []*node
	seen        int
	directories map[string]bool // the trees below the top, by name of object
}

func (t *treeReader) add(line string) error {
	rec, err := parseRecord(line)
	if err != nil {
		return err
	}
	if t.seen++; t.seen > 2*t.tally.limits.Files {
		return tooMany(t.tally.limits)
	}
	if err := checkEntryPath(rec.path); err != nil {
		return err
	}
	n, err := rec.node()
	if n == nil && err == nil {
		t.directories[rec.id] = true
	}
	if n == nil || err != nil {
		return err
	}
	t.nodes = append(t.nodes, n)
	return t.tally.add(n.Path, n.Size)
}

// node returns nil for directories: they follow from the paths of their entries.
func (rec record) node() (*node, error) {
	n := &node{Entry: Entry{Path: rec.path, Size: rec.size}, id: rec.id}
	switch rec.mode {
	case "040000":
		return nil, nil
	case "100644":
	case "100755":
		n.Exec = true
	case "120000":
		n.Type = Symlink
	case "160000":
		return nil, submoduleError(rec.path)
	default:
		return nil, &pathError{"use repository entry", rec.path,
			fmt.Sprintf("its mode is %s; a repository can contain only files, executable files and symbolic links",
				plainText(rec.mode)), nil}
	}
	if rec.typ != "blob" {
		return nil, &pathError{"use repository entry", rec.path,
			"according to its mode it is a file, but it is a " + plainText(rec.typ), nil}
	}
	return n, nil
}

func submoduleError(path string) error {
	return &pathError{"use repository entry", path,
		"it is a submodule, whose content is not part of the commit; move its files into the repository: git rm, then copy the files or use git subtree", nil}
}
