package listcache

import (
	"testing"

	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/repo"
)

// TestTable: what comes back is what was written, and a piece of it is nothing.
func TestTable(t *testing.T) {
	tree := repo.MapTree(map[string]string{"a": "text"})
	blobs := map[string]kind.Blob{
		"sha256:1": {Digest: "sha256:1", Size: 4, Tree: tree, Path: "a"},
		"sha256:2": {Digest: "sha256:2", Size: 6, Data: []byte("inline")},
	}
	b, err := table(tree, blobs)
	if err != nil {
		t.Fatal(err)
	}
	got, ok := readTable(b, tree)
	if !ok || len(got) != 2 || got["sha256:1"].Path != "a" || got["sha256:1"].Tree != tree ||
		string(got["sha256:2"].Data) != "inline" || got["sha256:2"].Size != 6 {
		t.Errorf("%v %+v", ok, got)
	}
	for i := range b {
		if part, ok := readTable(b[:i], tree); ok && len(part) == 2 {
			t.Errorf("%d of %d bytes were taken for all", i, len(b))
		}
	}
	if _, err := table(repo.MapTree(nil), blobs); err == nil {
		t.Error("content of another tree was kept")
	}
}
