package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"golang.org/x/sync/errgroup"
)

// limitTool does by hand, on all cores, what no tool can leave out: it keeps
// no history, compares nothing and could not survive a crash.
func limitTool() tool {
	return tool{
		name:    "limit",
		about:   "by hand in Go, on all cores: create all with one syncfs; lstat all; read and SHA-256 all; lstat all and replace the changed files",
		prepare: func(place) error { return nil },
		command: func(p place, w work) []string {
			if w == coldList {
				return nil
			}
			return byHand(w, p.dest, p.n)
		},
	}
}

// byHand is this program, started to do a work by itself.
func byHand(w work, dir string, n int) []string {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{self, "limit", string(w), dir, strconv.Itoa(n)}
}

func limitMain(args []string) error {
	if len(args) != 3 {
		return errors.New("usage: limit WORK FOLDER N")
	}
	n, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	dir := args[1]
	switch work(args[0]) {
	case firstApply:
		return limitCreate(dir, n)
	case noChange:
		return spread(n, func(i int) error { return look(dir, i) })
	case verifyAll:
		return spread(n, func(i int) error { return digest(dir, i) })
	case repair:
		return limitRepair(dir, n)
	case mixedHost:
		return limitHost(dir)
	case validateAll:
		return limitFleet(n, 1)
	case fleetDiff:
		return limitFleet(n, 2)
	case startEnd:
		return nil
	}
	return fmt.Errorf("there is no work %q", args[0])
}

// spread calls fn for each file, a directory's files in one goroutine.
func spread(n int, fn func(i int) error) error {
	var g errgroup.Group
	g.SetLimit(runtime.NumCPU())
	for first := 0; first < n; first += 100 {
		g.Go(func() error {
			for i := first; i < min(first+100, n); i++ {
				if err := fn(i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

func limitCreate(dir string, n int) error {
	for _, d := range directories(n) {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return err
		}
	}
	err := spread(n, func(i int) error { return os.WriteFile(filepath.Join(dir, name(i)), content(i), 0o644) })
	return errors.Join(err, syncAll(dir))
}

func look(dir string, i int) error {
	info, err := os.Lstat(filepath.Join(dir, name(i)))
	if err == nil && info.Size() != fileSize {
		err = fmt.Errorf("%s has %d bytes", name(i), info.Size())
	}
	return err
}

func digest(dir string, i int) error {
	f, err := os.Open(filepath.Join(dir, name(i)))
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	if [32]byte(h.Sum(nil)) != sha256.Sum256(content(i)) {
		return fmt.Errorf("%s has wrong content", name(i))
	}
	return nil
}

func limitRepair(dir string, n int) error {
	if err := spread(n, func(i int) error { return look(dir, i) }); err != nil {
		return err
	}
	if err := eachDamaged(n, func(i int) error {
		return os.WriteFile(filepath.Join(dir, name(i))+".new", content(i),
			0o644)
	}); err != nil {
		return err
	}
	if err := syncAll(dir); err != nil {
		return err
	}
	return eachDamaged(n, func(i int) error {
		p := filepath.Join(dir, name(i))
		return os.Rename(p+".new", p)
	})
}
