package paths

import (
	"bytes"
	"testing"

	"fettle.dev/fettle/internal/image"
)

// TestCopyModeOverKeptACL: the ACL that a file keeps must match the new mode of COPY. Otherwise the
// kernel would restore the old mode.
func TestCopyModeOverKeptACL(t *testing.T) {
	now := meta(t, "acl=u:1000:rwx mode=0640", image.File{Type: image.Regular, Mode: 0o600, Digest: one})
	to, err := Copy{}.Target(parse(t, "COPY "+two+" /f mode=0600"), image.Of(&now), numbers{})
	if err != nil {
		t.Fatal(err)
	}
	want := meta(t, "mode=0600", now)
	if to.File().Mode != 0o600 || !bytes.Equal(to.File().Xattrs[aclXattr], want.Xattrs[aclXattr]) ||
		bytes.Equal(now.Xattrs[aclXattr], want.Xattrs[aclXattr]) {
		t.Errorf("mode %o with %x, META makes %o with %x", to.File().Mode, to.File().Xattrs[aclXattr], want.Mode,
			want.Xattrs[aclXattr])
	}
}
