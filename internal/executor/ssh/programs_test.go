package ssh_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/fstest"

	"fettle.dev/fettle/internal/executor/ssh"
)

// TestPrograms: what is carried goes before the program itself, which goes only to
// machines of its own kind.
func TestPrograms(t *testing.T) {
	other := map[string]string{"amd64": "arm64", "arm64": "amd64"}[runtime.GOARCH]
	self := filepath.Join(t.TempDir(), "fettle")
	if err := os.WriteFile(self, []byte("all of it"), 0o755); err != nil {
		t.Fatal(err)
	}
	whole, err := ssh.NewPrograms(self, fstest.MapFS{}).For(runtime.GOARCH)
	if want := fmt.Sprintf("%x", sha256.Sum256([]byte("all of it"))); err != nil || whole == nil || whole.Digest != want {
		t.Errorf("a program that carries nothing is %v, %v; want itself, %s", whole, err, want)
	}
	if p, err := ssh.NewPrograms(self, fstest.MapFS{}).For(other); p != nil || err != nil {
		t.Errorf("there is a program for %s from nowhere: %v, %v", other, p, err)
	}
	carrying := ssh.NewPrograms(self, fstest.MapFS{
		"fettle-amd64.gz": {Data: []byte("packed 1")}, "fettle-amd64.sha256": {Data: []byte("d1\n")},
		"fettle-arm64.gz": {Data: []byte("packed 2")}, "fettle-arm64.sha256": {Data: []byte("d2\n")},
	})
	for arch, want := range map[string][2]string{"amd64": {"d1", "packed 1"}, "arm64": {"d2", "packed 2"}} {
		p, err := carrying.For(arch)
		if err != nil || p == nil || p.Digest != want[0] {
			t.Fatalf("for %s there is %v, %v", arch, p, err)
		}
		if packed, err := p.Packed(); err != nil || !bytes.Equal(packed, []byte(want[1])) {
			t.Errorf("for %s comes %q, %v", arch, packed, err)
		}
	}
}
