package child

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/stream"
)

// The requests of the child to the tree.
const (
	opReadFile = iota
	opStat
	opReadDir
	opReadlink
	opDigest
	opSecret
)

// The first byte of an answer. The errors are the ones that callers distinguish.
const (
	answerGood = iota
	answerError
	answerMissing     // errors.Is fs.ErrNotExist
	answerInvalid     // errors.Is fs.ErrInvalid
	answerPlaceholder // errors.Is source.ErrPlaceholder
)

// remoteTree is the holder's tree as the child sees it. A broken exchange
// makes every further use an error; Serve ends with it.
type remoteTree struct {
	conn   conn
	asks   byte // the kind of its requests
	known  *known
	at     func(diag.Range)
	broken error

	repository *compile.Repository // nil until the first question
	shared     *compile.Fleet      // nil until the first question about many targets
	before     *remoteTree         // the previous revision, nil until the holder sends it
	revisions  *compile.Revisions  // nil until the first question about both
}

var _ repo.Tree = (*remoteTree)(nil)

// Working passes on each place before it is read or evaluated.
func (t *remoteTree) Working(r diag.Range) {
	if t.at != nil {
		t.at(r)
	}
}

// ask sends one request and returns the reader of a successful answer.
func (t *remoteTree) ask(op uint64, path string) (*reader, error) {
	if t.broken != nil {
		return nil, t.broken
	}
	var w writer
	w.num(op)
	w.text(path)
	r, err := t.exchange(w.b)
	if err != nil {
		t.broken = err
		return nil, err
	}
	switch n := r.num(); n {
	case answerGood:
		return r, nil
	case answerError, answerMissing, answerInvalid, answerPlaceholder:
		return nil, &treeError{text: r.text(), kind: n}
	default:
		t.broken = nonsense("the answer kind %d", n)
		return nil, t.broken
	}
}

func (t *remoteTree) exchange(request []byte) (*reader, error) {
	if err := t.conn.send(t.asks, request); err != nil {
		return nil, err
	}
	kind, payload, err := t.conn.receive()
	switch {
	case err != nil:
		return nil, stream.Unexpected(err)
	case kind != kindAnswer:
		return nil, nonsense("a message of kind %q instead of an answer", kind)
	}
	return &reader{b: payload}, nil
}

// finish ends the reading of an answer.
func (t *remoteTree) finish(r *reader) error {
	if err := r.end(); err != nil && t.broken == nil {
		t.broken = err
	}
	return t.broken
}

func (t *remoteTree) ReadFile(p string) ([]byte, error) {
	if data, ok := t.known.content[p]; ok {
		return bytes.Clone(data), nil
	}
	r, err := t.ask(opReadFile, p)
	if err != nil {
		return nil, err
	}
	data := r.bytes()
	return data, t.finish(r)
}

// Open reads the whole file into memory, because the compiler opens no large files.
func (t *remoteTree) Open(p string) (io.ReadCloser, error) {
	data, err := t.ReadFile(p)
	return io.NopCloser(bytes.NewReader(data)), err
}

func (t *remoteTree) Stat(p string) (repo.Entry, error) {
	if e, ok := t.known.entries[p]; ok {
		return e, nil
	}
	r, err := t.ask(opStat, p)
	if err != nil {
		return repo.Entry{}, err
	}
	e := readEntry(r)
	return e, t.finish(r)
}

func (t *remoteTree) ReadDir(p string) ([]repo.Entry, error) {
	if list, ok := t.known.directories[p]; ok {
		return append([]repo.Entry{}, list...), nil
	}
	r, err := t.ask(opReadDir, p)
	if err != nil {
		return nil, err
	}
	list := make([]repo.Entry, r.count(4))
	for i := range list {
		list[i] = readEntry(r)
	}
	return list, t.finish(r)
}

func (t *remoteTree) Readlink(p string) (string, error) {
	r, err := t.ask(opReadlink, p)
	if err != nil {
		return "", err
	}
	target := r.text()
	return target, t.finish(r)
}

func (t *remoteTree) Digest(p string) (string, int64, error) {
	if d, ok := t.known.digests[p]; ok {
		return d, t.known.entries[p].Size, nil
	}
	r, err := t.ask(opDigest, p)
	if err != nil {
		return "", 0, err
	}
	d, size := r.text(), int64(r.int())
	return d, size, t.finish(r)
}

func writeEntry(w *writer, e repo.Entry) {
	w.text(e.Path)
	w.num(uint64(e.Type))
	w.bool(e.Exec)
	w.num(uint64(e.Size))
}

func readEntry(r *reader) repo.Entry {
	return repo.Entry{Path: r.text(), Type: entryType(r), Exec: r.bool(), Size: int64(r.int())}
}

// treeError is an error of the holder's tree with its text and its family.
type treeError struct {
	text string
	kind uint64
}

func (e *treeError) Error() string { return e.text }

func (e *treeError) Is(target error) bool {
	return e.kind == answerMissing && target == fs.ErrNotExist || e.kind == answerInvalid && target == fs.ErrInvalid ||
		e.kind == answerPlaceholder && target == source.ErrPlaceholder
}

// answer answers one request of the child.
func answer(tree repo.Tree, s *secrets, payload []byte) ([]byte, error) {
	r := &reader{b: payload}
	op, path := r.num(), r.text()
	if err := r.end(); err != nil {
		return nil, err
	}
	w := &writer{}
	w.num(answerGood)
	if err := perform(w, tree, s, op, path); err != nil {
		if errors.Is(err, ErrNonsense) {
			return nil, err
		}
		return refusal(err), nil
	}
	return w.b, nil
}

func perform(w *writer, tree repo.Tree, s *secrets, op uint64, path string) error {
	switch op {
	case opSecret:
		return s.answer(w, path)
	case opReadFile:
		data, err := tree.ReadFile(path)
		w.text(string(data))
		return err
	case opStat:
		e, err := tree.Stat(path)
		writeEntry(w, e)
		return err
	case opReadDir:
		list, err := tree.ReadDir(path)
		w.int(len(list))
		for _, e := range list {
			writeEntry(w, e)
		}
		return err
	case opReadlink:
		target, err := tree.Readlink(path)
		w.text(target)
		return err
	case opDigest:
		digest, size, err := tree.Digest(path)
		w.text(digest)
		w.num(uint64(size))
		return err
	}
	return nonsense("the request %d", op)
}

func refusal(err error) []byte {
	w := &writer{}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		w.num(answerMissing)
	case errors.Is(err, fs.ErrInvalid):
		w.num(answerInvalid)
	case errors.Is(err, source.ErrPlaceholder):
		w.num(answerPlaceholder)
	default:
		w.num(answerError)
	}
	w.text(fmt.Sprint(err))
	return w.b
}
