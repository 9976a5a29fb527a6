package fleet_test

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/fleet"
)

func TestSqueeze(t *testing.T) {
	var u fleet.Decompressor
	long := []byte("{" + strings.Repeat(`{"module":"modules/m1","state":"ready"},`, 100) + "}")
	if b := fleet.Compress(long); len(b) > len(long)/4 {
		t.Errorf("%d bytes became %d", len(long), len(b))
	}
	rapid.Check(t, func(t *rapid.T) {
		text := append([]byte("{"), bytes.Repeat(rapid.SliceOfN(rapid.Byte(), 1, 100).Draw(t, "part"),
			rapid.IntRange(0, 100).Draw(t, "times"))...)
		got, err := u.Decompress(fleet.Compress(text), len(text))
		if err != nil || !bytes.Equal(got, text) {
			t.Fatalf("%q came back as %q, %v", text, got, err)
		}
	})
	if _, err := u.Decompress(fleet.Compress(long), len(long)-1); err == nil {
		t.Error("took more than it may have")
	}
	b := fleet.Compress(long)
	if _, err := u.Decompress(b[:len(b)/2], len(long)); err == nil {
		t.Error("took what was cut off")
	}
	if got, err := u.Decompress(fleet.Compress(long), len(long)); err != nil || !bytes.Equal(got, long) {
		t.Errorf("after what could not be read: %v", err)
	}
}

func FuzzUnsqueeze(f *testing.F) {
	f.Add([]byte{1})
	f.Add(fleet.Compress(bytes.Repeat([]byte("{}"), 1000)))
	var u fleet.Decompressor
	f.Fuzz(func(t *testing.T, b []byte) {
		if text, err := u.Decompress(b, 10_000); err == nil && len(text) > 10_000 && len(text) > len(b) {
			t.Fatalf("%d bytes became %d", len(b), len(text))
		}
	})
}
