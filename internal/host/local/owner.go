package local

import (
	"fmt"
	"os"
)

// owner is the user of this process. asRoot maps it to root.
type owner struct {
	uid, gid uint32
	asRoot   bool // unprivileged on a throwaway root
}

func newOwner(root string) owner {
	uid, gid := uint32(os.Geteuid()), uint32(os.Getegid())
	return owner{uid: uid, gid: gid, asRoot: uid != 0 && root != "/"}
}

// trusts reports whether an inode's owner is trusted to determine the destination of a path.
func (o owner) trusts(uid uint32) bool { return uid == 0 || uid == o.uid }

// shown converts the owner in the kernel to the owner on the host.
func (o owner) shown(uid, gid uint32) (uint32, uint32) {
	if o.asRoot && uid == o.uid {
		uid = 0
	}
	if o.asRoot && gid == o.gid {
		gid = 0
	}
	return uid, gid
}

// real is the inverse of shown. It refuses owners that only root can set.
func (o owner) real(uid, gid uint32) (int, int, error) {
	if !o.asRoot {
		return int(uid), int(gid), nil
	}
	if (uid != 0 && uid != o.uid) || (gid != 0 && gid != o.gid) {
		return 0, 0, fmt.Errorf("owner %d:%d needs privileges; run as root", uid, gid)
	}
	return int(o.uid), int(o.gid), nil
}
