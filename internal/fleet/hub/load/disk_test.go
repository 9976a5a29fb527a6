package load

import "testing"

// TestDiskIsLow: a large disk has enough free space at nine percent, and a small disk at two GiB.
func TestDiskIsLow(t *testing.T) {
	const gib = uint64(1) << 30
	for _, c := range []struct {
		free, all uint64
		enough    bool
	}{
		{23 * gib, 252 * gib, true},
		{8 * gib, 8000 * gib, true},
		{8*gib - 1, 252 * gib, false},
		{2 * gib, 20 * gib, true},
		{2*gib - 1, 20 * gib, false},
		{0, 20 * gib, false},
		{0, 0, false},
	} {
		if DiskIsLow(c.free, c.all) == c.enough {
			t.Errorf("%d of %d bytes are free: want enough = %v", c.free, c.all, c.enough)
		}
	}
}
