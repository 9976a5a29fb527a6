package secret_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/secret"
)

func ExampleKey_Seal() {
	k := secret.NewKey()
	sealed := k.Seal([]byte("hunter2"))
	content, err := k.Open(sealed)
	fmt.Println(bytes.Equal(sealed, k.Seal([]byte("hunter2"))), string(content), err)
	// Output: true hunter2 <nil>
}

// TestSealed: sealed content can be opened, and sealing is deterministic. Another key or any change
// prevents opening.
func TestSealed(t *testing.T) {
	a, b := secret.NewKey(), secret.NewKey()
	rapid.Check(t, func(t *rapid.T) {
		content := rapid.SliceOf(rapid.Byte()).Draw(t, "content")
		sealed := a.Seal(content)
		if got, err := a.Open(sealed); err != nil || !bytes.Equal(got, content) {
			t.Fatalf("%q, %v", got, err)
		}
		if len(content) > 8 && bytes.Contains(sealed, content) {
			t.Fatal("it is not sealed")
		}
		if _, err := b.Open(sealed); !errors.Is(err, secret.ErrDamaged) {
			t.Fatalf("another key opens it: %v", err)
		}
		sealed[rapid.IntRange(0, len(sealed)-1).Draw(t, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		if _, err := a.Open(sealed); !errors.Is(err, secret.ErrDamaged) {
			t.Fatalf("a change was not seen: %v", err)
		}
	})
}

// TestKey: a key is read as it was written, and printing one tells its name.
func TestKey(t *testing.T) {
	k := secret.NewKey()
	if got, err := secret.ParseKey(k.Text()); err != nil || got != k || !secret.IsID(k.ID()) {
		t.Errorf("%v %v", got, err)
	}
	for _, f := range []string{"%v", "%s", "%+v", "%#v", "%x", "%d"} {
		if text := fmt.Sprintf(f, k); strings.Contains(string(k.Text()), strings.TrimPrefix(text, "key ")) ||
			!strings.Contains(text, k.ID()) {
			t.Errorf("%s prints %s", f, text)
		}
	}
	for _, bad := range []string{"", "x", "fettle-sealing-key-1 00", "fettle-sealing-key-1 " + strings.Repeat("0", 64)} {
		if _, err := secret.ParseKey([]byte(bad)); err == nil {
			t.Errorf("%q is a key", bad)
		}
	}
}

// TestRef: references parse their own output, and no other text.
func TestRef(t *testing.T) {
	r := secret.Ref{Key: secret.NewKey().ID(), Digest: "sha256:" + strings.Repeat("a", 64)}
	if got, ok := secret.ParseRef(r.String()); !ok || got != r {
		t.Errorf("%v %v", got, ok)
	}
	for _, bad := range []string{"", "sealed:", "sealed:x:sha256:" + strings.Repeat("a", 64),
		"sealed:" + r.Key + ":sha256:a", r.String() + "a"} {
		if _, ok := secret.ParseRef(bad); ok {
			t.Errorf("%q is a reference", bad)
		}
	}
}

// TestMasker: no form of a value remains in a text, with any surrounding text.
func TestMasker(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.StringMatching(`[a-z][a-zA-Z0-9'"\\&<>/ _-]{3,40}[a-z]`).Draw(t,
			"value") // blanks alone would leave too little to hide
		m := secret.NewMasker([]string{v, "another-one"})
		around := rapid.StringMatching(`[A-Z .:]{0,5}`)
		for _, form := range []string{strings.TrimSpace(v), fmt.Sprintf("%q", v),
			base64.StdEncoding.EncodeToString([]byte(v)), fmt.Sprintf("%x", v), fmt.Sprintf("%X", v)} {
			got := m.Text(around.Draw(t, "before") + form + around.Draw(t, "after"))
			if !strings.Contains(got, secret.Hidden) || strings.Contains(got, strings.Trim(form, `"`)) {
				t.Fatalf("%q becomes %q", form, got)
			}
		}
	})
	var none *secret.Masker
	if none.Text("text") != "text" || secret.NewMasker([]string{"ab"}).Text("about") != "about" {
		t.Error("what is no secret was taken out")
	}
}

// TestValues: a set of values can be read back.
func TestValues(t *testing.T) {
	k := secret.NewKey()
	want := []string{"a", "", "two\nlines", "\x00"}
	got, err := k.OpenValues(k.SealValues(want))
	if err != nil || fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := k.OpenValues(k.Seal([]byte{200, 1, 2})); !errors.Is(err, secret.ErrDamaged) {
		t.Errorf("%v", err)
	}
}
