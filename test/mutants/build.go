package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// helper is the file that each woven package gets. The number of the chosen mutant is in an environment
// variable, so processes that a test starts with its own environment run the same mutant. If another
// variable names a file, the numbers of all mutants that were reached are appended to the file.
const helper = `package %s

import (
	"os"
	"strconv"
	"sync"
)

var fettleChosen, _ = strconv.Atoi(os.Getenv("` + chosenVariable + `"))

var fettleReached = struct {
	on   bool
	file *os.File
	mu   sync.Mutex
	seen map[int]bool
}{on: os.Getenv("` + reachedVariable + `") != "", seen: map[int]bool{}}

func fettleMutant(n int) bool {
	if fettleReached.on {
		fettleNote(n)
	}
	return n == fettleChosen
}

func fettleNote(n int) {
	fettleReached.mu.Lock()
	defer fettleReached.mu.Unlock()
	if fettleReached.seen[n] {
		return
	}
	fettleReached.seen[n] = true
	if fettleReached.file == nil {
		fettleReached.file, _ = os.OpenFile(os.Getenv("` + reachedVariable + `"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	}
	_, _ = fettleReached.file.WriteString(strconv.Itoa(n) + "\n")
}
`

const (
	chosenVariable  = "FETTLE_MUTANT"
	reachedVariable = "FETTLE_MUTANTS_REACHED"
)

// stub replaces helper while types are checked.
const stub = "package %s\n\nfunc " + choice + "(int) bool { return false }\n"

// weave combines mutants that compile together in one build. Each other mutant needs its own build.
func (t *target) weave(ms []mutant) ([]woven, error) {
	ids := map[string]int{}
	for i, m := range ms {
		ids[m.name()] = i + 1
	}
	var out []woven
	for file := range t.files {
		src, err := os.ReadFile(filepath.Join(t.root, file))
		if err != nil {
			return nil, err
		}
		of := slices.DeleteFunc(slices.Clone(ms), func(m mutant) bool { return m.file != file || m.place.unknown })
		w := woven{src: src, ids: ids}
		if w.ms = t.together(file, w, of); len(w.ms) > 0 {
			out = append(out, w)
		}
	}
	return out, nil
}

// together returns the mutants of the list that compile together with the mutants of w.
func (t *target) together(file string, w woven, more []mutant) []mutant {
	if len(more) == 0 {
		return w.ms
	}
	all := w
	all.ms = append(slices.Clone(w.ms), more...)
	if t.compiles(file, all.text()) {
		return all.ms
	}
	if len(more) == 1 {
		return w.ms
	}
	w.ms = t.together(file, w, more[:len(more)/2])
	return t.together(file, w, more[len(more)/2:])
}

// stubFile is the syntax of stub.
func (t *target) stubFile() (*ast.File, error) {
	return parser.ParseFile(t.pkg.Fset, "stub.go", fmt.Sprintf(stub, t.pkg.Name), parser.SkipObjectResolution)
}

// overlay writes the woven files to dir and returns the overlay of the build.
func (t *target) overlay(dir string, ws []woven) ([]byte, error) {
	replaced := map[string]string{}
	write := func(name string, text []byte) error {
		file := filepath.Join(dir, filepath.Base(name))
		replaced[filepath.Join(t.root, name)] = file
		return os.WriteFile(file, text, 0o600)
	}
	if err := write(t.directory+"/zz_mutants.go", fmt.Appendf(nil, helper, t.pkg.Name)); err != nil {
		return nil, err
	}
	for _, w := range ws {
		if err := write(w.ms[0].file, w.text()); err != nil {
			return nil, err
		}
	}
	return json.Marshal(map[string]any{"Replace": replaced})
}

// alone writes one mutant to dir and returns the overlay of the build.
func (t *target) alone(dir string, m mutant) ([]byte, error) {
	text, err := t.edited(m)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, filepath.Base(m.file))
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(t.root, m.file): file}})
}

// compile builds the tests of a directory with an overlay.
func (t *target) compile(ctx context.Context, dir, directory, binary string, overlay []byte) error {
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		return err
	}
	build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", file, "-o", binary,
		"./"+directory)
	build.Dir = t.root
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot build the tests of %s: %w\n%s", directory, err, bytes.TrimSpace(out))
	}
	return nil
}
