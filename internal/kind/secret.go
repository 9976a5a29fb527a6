package kind

import (
	"strconv"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/secret"
	"fettle.dev/fettle/internal/step"
)

// Secret is one as the compiler has it. Where it could not be opened the content
// is a placeholder, the same for the same file, and the Key is the zero one.
type Secret struct {
	Content []byte
	Key     secret.Key
}

// Sealed makes a blob of content under a key, and gives the ID for the step that
// names it.
func Sealed(content []byte, k secret.Key) (b Blob, key string) {
	return Inline(string(k.Seal(content))), k.ID()
}

// TextBlob makes a blob of a text: sealed, and with the ID of its key, where a
// secret is in it.
func TextBlob(v cty.Value) (b Blob, key string) {
	plain, marks := v.Unmark()
	if k, ok := secret.KeyOf(Marks(marks)); ok {
		return Sealed([]byte(plain.AsString()), k)
	}
	return Inline(plain.AsString()), ""
}

// SecretText is an attribute's text that came of a secret, as a reference to
// what Sealed makes of it; ok is false where it is no secret.
func SecretText(v cty.Value) (b Blob, ref secret.Ref, ok bool) {
	plain, marks := v.Unmark()
	k, ok := secret.KeyOf(Marks(marks))
	if !ok {
		return Blob{}, secret.Ref{}, false
	}
	b, id := Sealed([]byte(plain.AsString()), k)
	return b, secret.Ref{Key: id, Digest: b.Digest}, true
}

// Marks are marks as package secret has them, which knows no values.
func Marks(m cty.ValueMarks) map[any]struct{} { return m }

// Elements are the values of an object or map. What is known of all of it being
// secret, each of them has.
func Elements(v cty.Value) map[string]cty.Value {
	plain, marks := v.Unmark()
	out := plain.AsValueMap()
	for k, e := range out {
		out[k] = e.WithMarks(marks)
	}
	return out
}

// Guard adds the key to the attributes of a file with a secret in it, of which
// the third is the mode: 0600 where it has none. A mode with which everybody can
// read it is a warning at the attribute that gives it.
func (s State) Guard(attrs []step.Attr, from, key string) ([]step.Attr, diag.List) {
	mode := &attrs[2]
	if mode.Value == "" {
		mode.Value = "0600"
	}
	var ds diag.List
	if n, err := strconv.ParseUint(mode.Value, 8, 12); err == nil && n&0o007 != 0 {
		ds = diag.List{diag.Warningf(s.AttrRange(from), "Secret for everybody", "The file has a secret in it, and with mode %s every user of the host can open it. Use 0600, or 0640 with a group.", mode.Value)}
	}
	return append(attrs, step.Attr{Key: "sealed", Value: key}), ds
}
