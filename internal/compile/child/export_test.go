package child

import (
	"bytes"
	"testing"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/repo"
)

// Question is the whole message that asks to compile.
func Question(t *testing.T, in compile.Input) []byte {
	t.Helper()
	payload, err := question{ask: firstForm, in: in}.encode()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := (conn{w: &b}).send(kindQuestion, payload); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Forms is the number of types of queries in the table.
func Forms() int { return len(forms()) }

// Watched is the tree that the child compiles.
func Watched() source.Watched { return &remoteTree{} }

// EncodeResult and DecodeResult are the two halves of a result.
func EncodeResult(res compile.Result) []byte {
	w := &writer{}
	writeResult(w, res)
	return w.b
}

func DecodeResult(b []byte, tree repo.Tree) (compile.Result, error) {
	r := &reader{b: b}
	res := readResult(r, tree)
	return res, r.end()
}

// Decode reads a payload as everything that a payload can be.
func Decode(b []byte, tree repo.Tree) {
	_, _ = readIndex(b)
	_, _ = readQuestion(b)
	_, _ = answer(tree, &secrets{}, b)
	for _, f := range forms() {
		_, _, _ = f.read(side{tree, &secrets{}}, &reader{b: b})
	}
	(&reader{b: b}).diags()
	_, _ = DecodeResult(b, tree)
	(&fleetReader{reader: &reader{b: b}, lists: true}).changes()
	for _, lists := range []bool{false, true} {
		x := fleetReader{reader: &reader{b: b}, lists: lists}
		for range x.count(3) {
			x.member()
		}
	}
}
