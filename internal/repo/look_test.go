package repo

import (
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"testing"
)

// TestAnyLook: a look of any bytes whose sum is right has no way to panic.
func TestAnyLook(t *testing.T) {
	id, sum := "0123456789012345678901234567890123456789",
		"sha256:"+"ab00000000000000000000000000000000000000000000000000000000000000"
	whole := encode(lookHead{Look: true, Git: []gitFile{{"/", nil}}}, []trace{
		{path: "a/one", node: &node{Entry: Entry{Path: "a/one", Size: 3}, id: id, digest: sum}},
		{path: "a/link", node: &node{Entry: Entry{Path: "a/link", Type: Symlink}, id: id, target: "one"}},
		{path: ".gitignore"},
	}, map[string]stamp{".": {ino: 1}, "a": {ino: 2}})
	l := parseLook(whole)
	if l == nil || l.find("a/one") == nil || l.find("a/link").target != "one" || l.find(".gitignore") != nil ||
		l.find("a") != nil {
		t.Fatal("it does not come back")
	}
	empty := t.TempDir()
	dice, read := rand.New(rand.NewPCG(1, 2)), 0
	for range 20_000 {
		b := append([]byte{}, whole...)
		for range 1 + dice.IntN(3) {
			b[lookStart+dice.IntN(len(b)-lookStart)] = byte(dice.Uint32())
		}
		b = b[:len(b)-dice.IntN(2)*dice.IntN(40)]
		binary.LittleEndian.PutUint32(b[len(lookMagic):], crc32.Checksum(b[lookStart:], crc32.MakeTable(crc32.Castagnoli)))
		l := parseLook(b)
		if l == nil {
			continue
		}
		read++
		if l.sameDirectories(empty) {
			t.Fatal("it is taken for a directory that is empty")
		}
		m := &Memory{was: l}
		m.begin()
		l.find("a/one")
		tree := &lazyTree{look: l}
		_, _ = tree.Stat("a/x")
		_, _ = tree.ReadDir("a")
	}
	if read == 0 {
		t.Error("none could be read at all")
	}
}
