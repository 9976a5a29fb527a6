package apply

import (
	"errors"
	"io/fs"
	"path"
	"slices"

	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/move"
	"fettle.dev/fettle/internal/plan"
)

// paths executes a batch of path changes. The first change that fails ends the batch; the changes
// before it are made.
func (r *forward) paths(indexes []int) error {
	var b move.Batch
	made := map[string]bool{}
	for k, i := range indexes {
		m, err := r.prepare(i, made)
		if k > 0 && errors.Is(err, move.ErrHardLinks) { // earlier changes may remove the other names
			return r.inTwo(indexes[:k], indexes[k:])
		}
		if err != nil {
			return r.partly(indexes[:k], i, err)
		}
		if m != nil {
			b.Moves = append(b.Moves, m)
			made[m.Path] = m.From.Type == image.Absent && m.To.Type == image.Directory
		}
	}
	at, err := r.batches.commit(&b, false)
	if cut(err) {
		return err
	}
	if first := before(indexes, at); len(first) > 0 && unreached(err) {
		return r.inTwo(first, indexes[len(first):])
	}
	if err != nil {
		return r.partly(before(indexes, at), at, err)
	}
	return r.validateInPlace(indexes)
}

// inTwo executes a batch as two batches, so that the second finds the directories that the first
// created. A change that still fails is then the first of its batch.
func (r *forward) inTwo(first, second []int) error {
	if err := r.paths(r.toDo(first)); err != nil {
		return err
	}
	return r.paths(r.toDo(second))
}

func (r *forward) toDo(indexes []int) []int {
	return slices.DeleteFunc(slices.Clone(indexes), func(i int) bool { return r.machine.Status(i) != Do })
}

// before returns the indexes in front of change i.
func before(indexes []int, i int) []int {
	for k, x := range indexes {
		if x == i {
			return indexes[:k]
		}
	}
	return nil
}

// partly makes the changes before the failed one, then marks this one as failed.
func (r *forward) partly(first []int, failed int, err error) error {
	if todo := r.toDo(first); len(todo) > 0 {
		if err2 := r.paths(todo); err2 != nil {
			return err2
		}
	}
	return r.fail(failed, StepFailed, r.placed(failed, err))
}

// noPlace is the error of a change whose parent directory does not exist. It contains the cause for
// callers, and its text has the remedy instead of the name of a temporary file.
type noPlace struct {
	text string
	err  error
}

func (e *noPlace) Error() string { return e.text }
func (e *noPlace) Unwrap() error { return e.err }

// placed adds a remedy to the error of a change that could not be staged because its directory does
// not exist. It returns other errors unchanged.
func (r *forward) placed(i int, err error) error {
	p := r.machine.Step(i).Path()
	if !unreached(err) || p == "" {
		return err
	}
	missing := r.missing(path.Dir(p))
	if missing == "" {
		return err
	}
	return &noPlace{plan.WithoutDirectory(p, missing), err}
}

// missing returns the first directory on the path dir that does not exist, or "" if all exist or this
// is unknown.
func (r *forward) missing(dir string) string {
	first := ""
	for ; dir != "/" && dir != "."; dir = path.Dir(dir) {
		if _, err := r.Host.Lstat(dir); err == nil {
			break
		} else if !errors.Is(err, fs.ErrNotExist) {
			return ""
		}
		first = dir
	}
	return first
}

// unreached reports whether the parent directory of a change was missing while staging. The same batch
// may create it under another name, through a symbolic link.
func unreached(err error) bool {
	var me *move.Error
	return errors.As(err, &me) && me.What == "write" && errors.Is(err, fs.ErrNotExist)
}
