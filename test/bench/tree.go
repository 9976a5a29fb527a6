package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const fileSize = 1 << 10

// name is the path of file i, a hundred to a directory.
func name(i int) string { return fmt.Sprintf("d%03d/f%02d", i/100, i%100) }

// content is what file i holds.
func content(i int) []byte {
	line := fmt.Appendf(nil, "file %d\n", i)
	return bytes.Repeat(line, fileSize/len(line)+1)[:fileSize]
}

// damaged tells whether file i is one of those that are changed behind the
// tool's back.
func damaged(i int) bool { return i%100 == 42 }

func directories(n int) []string {
	var out []string
	for i := 0; i < n; i += 100 {
		out = append(out, filepath.Dir(name(i)))
	}
	return out
}

// writeTree makes the source.
func writeTree(dir string, n int) error {
	for _, d := range directories(n) {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return err
		}
	}
	return spread(n, func(i int) error { return os.WriteFile(filepath.Join(dir, name(i)), content(i), 0o644) })
}

// damageTree overwrites one file in a hundred with other bytes, as many.
func damageTree(dir string, n int) error {
	return eachDamaged(n, func(i int) error {
		return os.WriteFile(filepath.Join(dir, name(i)), bytes.ToUpper(content(i)), 0o644)
	})
}

// healTree undoes damageTree.
func healTree(dir string, n int) error {
	return eachDamaged(n, func(i int) error {
		return os.WriteFile(filepath.Join(dir, name(i)), content(i), 0o644)
	})
}

func eachDamaged(n int, fn func(i int) error) error {
	for i := range n {
		if damaged(i) {
			if err := fn(i); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkTree compares a tree with the source: names, content and modes.
func checkTree(dir string, n int) error {
	err := spread(n, func(i int) error {
		got, err := os.ReadFile(filepath.Join(dir, name(i)))
		if err == nil && !bytes.Equal(got, content(i)) {
			err = fmt.Errorf("%s has wrong content", name(i))
		}
		return err
	})
	if err != nil {
		return err
	}
	count := 0
	err = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o644)
		if d.IsDir() {
			want = fs.ModeDir | 0o755
		} else {
			count++
		}
		if info.Mode() != want {
			return fmt.Errorf("%s is %s and should be %s", p, info.Mode(), want)
		}
		return nil
	})
	if err == nil && count != n {
		err = fmt.Errorf("there are %d files and should be %d", count, n)
	}
	return err
}
