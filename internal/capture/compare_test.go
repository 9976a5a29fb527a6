package capture_test

import (
	"errors"
	"testing"

	"fettle.dev/fettle/internal/capture"
)

// TestCompareTree: a file that was removed and written again changes only the time of its directory, so the tree is
// the stored one. Another file in the directory, or another mode, is a difference.
func TestCompareTree(t *testing.T) {
	for what, c := range map[string]struct {
		file string
		mode uint32
		same bool
	}{
		"time of a directory": {"/d/sub/new", 0o2750, true},
		"mode of a directory": {"/d/sub/new", 0o700, false},
		"file of others":      {"", 0o2750, false},
	} {
		f, s := world(t), store(t)
		stored := must(capture.TakeTree(f, s, "/d"))(t)
		write(t, f, "/d/sub/new", "theirs")
		if c.file != "" {
			check(t, f.Remove(c.file))
		}
		n := must(f.OpenNode("/d/sub"))(t)
		check(t, errors.Join(n.Chmod(c.mode), n.Close()))
		if now := must(capture.TakeTree(f, nil, "/d"))(t); now.Tree == stored.Tree {
			t.Fatalf("%s: the time of the directory is unchanged", what)
		}
		if now := must(capture.CompareTree(f, s, "/d", stored.Tree))(t); (now.Tree == stored.Tree) != c.same {
			t.Errorf("%s: the tree is the stored one: %v", what, !c.same)
		}
	}
}
