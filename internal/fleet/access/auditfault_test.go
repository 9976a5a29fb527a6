package access_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/host/mem"
)

// TestOneFailedOperation: if any single operation on the disk fails, the log has all acknowledged
// records after a power cut.
func TestOneFailedOperation(t *testing.T) {
	for n := 1; n < 20; n++ {
		disk := mem.NewFS(mem.Options{})
		ops := 0
		files := disk.Counted(func(string, string) error {
			if ops++; ops == n {
				return errors.New("input/output error")
			}
			return nil
		})
		trail, err := access.OpenTrail(&access.File{FS: files, Path: "/audit"}, "hub1", start)
		if err != nil {
			t.Fatal(err)
		}
		acknowledged := uint64(0)
		if trail.Append(t.Context(), entry(0)) == nil {
			acknowledged = trail.Head().Seq
		}
		left := disk.CrashClone(rand.New(rand.NewPCG(uint64(n), 1)))
		after, err := access.OpenTrail(&access.File{FS: left, Path: "/audit"}, "hub1", start)
		if err != nil || after.Head().Seq < acknowledged {
			t.Errorf("operation %d failed: %d of %d records, %v", n, after.Head().Seq, acknowledged, err)
		}
	}
}
