package paths

import (
	"bytes"
	"testing"

	"fettle.dev/fettle/internal/image"
)

// TestCopyModeOverKeptACL: the access list that a file keeps says what the mode
// says that COPY gives it; else the kernel would bring the old mode back.
func TestCopyModeOverKeptACL(t *testing.T) {
	now := meta(t, "acl=u:1000:rwx mode=0640", image.File{Type: image.Regular, Mode: 0o600, Digest: one})
	to, err := Copy{}.Target(parse(t, "COPY "+two+" /f mode=0600"), image.Image{File: &now}, numbers{})
	if err != nil {
		t.Fatal(err)
	}
	want := meta(t, "mode=0600", now)
	if to.File.Mode != 0o600 || !bytes.Equal(to.File.Xattrs[aclXattr], want.Xattrs[aclXattr]) || bytes.Equal(now.Xattrs[aclXattr], want.Xattrs[aclXattr]) {
		t.Errorf("mode %o with %x, META makes %o with %x", to.File.Mode, to.File.Xattrs[aclXattr], want.Mode, want.Xattrs[aclXattr])
	}
}
