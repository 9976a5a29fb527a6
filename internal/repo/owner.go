package repo

import (
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// checkOwner refuses a repository above the requested directory that belongs to an untrusted user:
// any user can create a .git in /tmp, which must not become the configuration of all directories
// below. Trusted are root, the user of this process, the user that called sudo, and the owner of
// the requested directory.
func checkOwner(gitDir, asked string) error {
	info, err := os.Stat(gitDir)
	if err != nil {
		return fmt.Errorf("cannot open repository: %w", err)
	}
	owner, known := ownerOf(info)
	if !known || owner == 0 || owner == uint32(os.Geteuid()) {
		return nil
	}
	if sudo, err := strconv.ParseUint(os.Getenv("SUDO_UID"), 10, 32); err == nil && owner == uint32(sudo) {
		return nil
	}
	info, err = os.Stat(asked)
	if err != nil {
		return fmt.Errorf("cannot open repository: %w", err)
	}
	if mine, _ := ownerOf(info); mine == owner {
		return nil
	}
	return fmt.Errorf("cannot open repository %q: it belongs to user %d, and neither you nor the owner of %q is that user. "+
		"If you trust it, name its own folder: -C %s", gitDir, owner, asked, trimGitDir(gitDir))
}

func ownerOf(info fs.FileInfo) (uint32, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return st.Uid, true
}

// openFlags keep a name that was exchanged for a fifo or a link from being
// waited for or followed.
const openFlags = os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOFOLLOW
