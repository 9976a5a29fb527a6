package kind

import (
	"strconv"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/secret"
	"fettle.dev/fettle/internal/step"
)

// Secret is the content of a secret and its key. If it could not be decrypted, the content is a
// placeholder that depends only on its file, and the key is the zero Key.
type Secret struct {
	Content []byte
	Key     secret.Key
}

// Sealed creates a blob of encrypted content, and returns the ID of the key for the step.
func Sealed(content []byte, k secret.Key) (b Blob, key string) {
	return Inline(string(k.Seal(content))), k.ID()
}

// TextBlob creates a blob from text. If the text contains a secret, the blob is encrypted, and the ID
// of the key is returned.
func TextBlob(v cty.Value) (b Blob, key string) {
	plain, marks := v.Unmark()
	if k, ok := secret.KeyOf(Marks(marks)); ok {
		return Sealed([]byte(plain.AsString()), k)
	}
	return Inline(plain.AsString()), ""
}

// SecretText encrypts the text of an attribute with a secret, and returns a reference to the blob. ok
// is false if the text contains no secret.
func SecretText(v cty.Value) (b Blob, ref secret.Ref, ok bool) {
	plain, marks := v.Unmark()
	k, ok := secret.KeyOf(Marks(marks))
	if !ok {
		return Blob{}, secret.Ref{}, false
	}
	b, id := Sealed([]byte(plain.AsString()), k)
	return b, secret.Ref{Key: id, Digest: b.Digest}, true
}

// Marks converts marks of values to the form of package secret, which does not import cty.
func Marks(m cty.ValueMarks) map[any]struct{} { return m }

// Elements returns the values of an object or map. The marks of the whole are added to each value.
func Elements(v cty.Value) map[string]cty.Value {
	plain, marks := v.Unmark()
	out := plain.AsValueMap()
	for k, e := range out {
		out[k] = e.WithMarks(marks)
	}
	return out
}

// Guard adds the key to the attributes of a file with a secret. The third attribute is the mode, whose
// default becomes 0600. A mode with which all users can read the file is a warning at the attribute
// from.
func (s State) Guard(attrs []step.Attr, from, key string) ([]step.Attr, diag.List) {
	mode := &attrs[2]
	if mode.Value == "" {
		mode.Value = "0600"
	}
	var ds diag.List
	if n, err := strconv.ParseUint(mode.Value, 8, 12); err == nil && n&0o007 != 0 {
		ds = diag.List{diag.Warningf(s.AttrRange(from), "Secret is readable for all users",
			"The file has a secret in it, and with mode %s every user of the host can open it. Use 0600, or 0640 with a group.",
			mode.Value)}
	}
	return append(attrs, step.Attr{Key: "sealed", Value: key}), ds
}
