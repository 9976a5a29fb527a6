package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"

	llsyscall "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// The results of EnterProgram if the sandbox could not be set up; the program itself has not run
// then.
const (
	wallsExit = 125
	wallsSay  = "fettle: no sandbox: "
)

// EnterProgram is the child of Run: args are the arguments after the word. It enters the sandbox
// and becomes the program. If it returns, the program was not started, and the exit code is the
// number beside the error.
func EnterProgram(args []string) (int, error) {
	if len(args) < 4 {
		return wallsExit, errors.New(wallsSay + "the arguments do not come from Run")
	}
	memory, merr := strconv.ParseUint(args[0], 10, 63)
	seconds, serr := strconv.ParseUint(args[1], 10, 31)
	if merr != nil || serr != nil {
		return wallsExit, errors.New(wallsSay + "the limits are not numbers")
	}
	runtime.LockOSThread() // this thread gives up its privileges and becomes the program
	if err := errors.Join(restrictFiles(args[2]), powerless(), programWall()); err != nil {
		return wallsExit, fmt.Errorf("%s%w", wallsSay, err)
	}
	path, err := programPath(args[3])
	if err != nil {
		return 127, err
	}
	env := []string{"PATH=" + programDirs, "HOME=/nonexistent", "LC_ALL=C.UTF-8", "TZ=UTC"}
	// The limits also apply to this process until it becomes the program, and can be below its
	// current use: from here on nothing must need a thread or more memory.
	debug.SetGCPercent(-1)
	if err := bounds(memory, seconds); err != nil {
		return wallsExit, fmt.Errorf("%s%w", wallsSay, err)
	}
	err = syscall.Exec(path, args[3:], env)
	return 126, fmt.Errorf("cannot start %s: %w", args[3], err)
}

const programDirs = "/usr/local/bin:/usr/bin:/bin"

// programPath returns the path of a program in the work directory or in the system's directories.
func programPath(name string) (string, error) {
	if strings.Contains(name, "/") {
		return filepath.Join("/work", name), nil
	}
	for _, dir := range filepath.SplitList(programDirs) {
		p := filepath.Join(dir, name)
		if st, err := os.Stat(p); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return p, nil
		}
	}
	return "", fmt.Errorf("cannot find the program %s: %w", name, exec.ErrNotFound)
}

// restrictFiles makes dir/root the only file system: the system's programs, the work directory and
// three devices, all of them read-only.
func restrictFiles(dir string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("the mounts cannot be made private: %w", err)
	}
	root := filepath.Join(dir, "root")
	if err := unix.Mount("none", root, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "size=1m,mode=755"); err != nil {
		return fmt.Errorf("a file system in memory cannot be mounted: %w", err)
	}
	err := furnish(root, dir)
	if err == nil {
		err = remount(root, 0)
	}
	if err == nil {
		err = unix.Chdir(root)
	}
	if err == nil {
		err = unix.PivotRoot(".", ".") // the old root is then mounted over the new one
	}
	if err == nil {
		err = unix.Unmount(".", unix.MNT_DETACH)
	}
	if err == nil {
		err = unix.Chdir("/work")
	}
	if err != nil {
		return fmt.Errorf("the root cannot be changed: %w", err)
	}
	return nil
}

func furnish(root, dir string) error {
	for _, d := range []string{"usr", "work", "dev", "etc", "tmp"} {
		if err := unix.Mkdir(filepath.Join(root, d), 0o755); err != nil {
			return err
		}
	}
	if err := bind("/usr", filepath.Join(root, "usr"), 0); err != nil {
		return err
	}
	if err := bind(filepath.Join(dir, "work"), filepath.Join(root, "work"), unix.MS_NODEV); err != nil {
		return err
	}
	for _, name := range []string{"bin", "sbin", "lib", "lib32", "lib64", "libx32"} {
		if err := sameAs(root, name); err != nil {
			return err
		}
	}
	for _, d := range []string{"/dev/null", "/dev/zero", "/dev/urandom"} {
		if err := bindFile(root, d, true); err != nil {
			return err
		}
	}
	return errors.Join(bindFile(root, "/etc/ld.so.cache", false), sameAs(root, "etc/alternatives"))
}

// sameAs gives the new root a directory of the old one: the same link, or the directory itself. A
// missing directory is omitted.
func sameAs(root, name string) error {
	var st unix.Stat_t
	if unix.Lstat("/"+name, &st) != nil {
		return nil
	}
	to := filepath.Join(root, name)
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		link, err := os.Readlink("/" + name)
		if err != nil {
			return err
		}
		return unix.Symlink(link, to)
	}
	if err := unix.Mkdir(to, 0o755); err != nil {
		return err
	}
	return bind("/"+name, to, 0)
}

// bindFile gives the new root a file of the old one. A missing file is omitted. A device stays
// writable, which has no effect.
func bindFile(root, name string, device bool) error {
	if unix.Access(name, unix.F_OK) != nil {
		return nil
	}
	to := filepath.Join(root, name)
	fd, err := unix.Open(to, unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	_ = unix.Close(fd)
	if device {
		return unix.Mount(name, to, "", unix.MS_BIND, "")
	}
	return bind(name, to, 0)
}

// bind mounts a directory read-only in another place.
func bind(from, to string, flags uintptr) error {
	if err := unix.Mount(from, to, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("%s cannot be shown inside: %w", from, err)
	}
	return remount(to, flags)
}

// remount keeps the flags of a mount, because flags of another user namespace cannot be cleared.
func remount(at string, flags uintptr) error {
	var st unix.Statfs_t
	if err := unix.Statfs(at, &st); err != nil {
		return err
	}
	kept := uintptr(st.Flags) & (unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC | unix.MS_NOATIME | unix.MS_NODIRATIME | unix.MS_RELATIME)
	if err := unix.Mount("", at, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY|unix.MS_NOSUID|kept|flags,
		""); err != nil {
		return fmt.Errorf("%s cannot be made read-only: %w", at, err)
	}
	return nil
}

// bounds sets the resource limits, which nothing in there can raise again. The limits of memory are
// last: they can be below the use of this process, which then cannot start another thread.
func bounds(memory, seconds uint64) error {
	unix.Umask(0o022)
	limits := []struct {
		what  int
		value uint64
	}{
		{unix.RLIMIT_CPU, seconds}, {unix.RLIMIT_NOFILE, programFiles}, {unix.RLIMIT_NPROC, programProcs},
		{unix.RLIMIT_FSIZE, 0}, {unix.RLIMIT_CORE, 0}, {unix.RLIMIT_MEMLOCK, 0}, {unix.RLIMIT_MSGQUEUE, 0},
		{unix.RLIMIT_DATA, memory}, {unix.RLIMIT_AS, 4 * memory},
	}
	for i, l := range limits {
		var has unix.Rlimit
		if err := unix.Getrlimit(l.what, &has); err != nil {
			return err
		}
		limits[i].value = min(l.value, has.Max)
	}
	for _, l := range limits {
		if err := unix.Setrlimit(l.what, &unix.Rlimit{Cur: l.value, Max: l.value}); err != nil {
			return err
		}
	}
	return nil
}

// programWall is a second wall with the same purpose: it prevents writing, mounting and connecting
// even if the mounts had a gap. It applies to the thread that becomes the program; go-landlock's
// own function needs /proc, which does not exist here.
func programWall() error {
	abi, err := llsyscall.LandlockGetABIVersion()
	if err != nil || abi < 1 {
		return nil // the mounts are the only protection
	}
	rights := llsyscall.RulesetAttr{HandledAccessFS: llsyscall.AccessFSRefer - 1}
	if abi >= 2 {
		rights.HandledAccessFS |= llsyscall.AccessFSRefer
	}
	if abi >= 3 {
		rights.HandledAccessFS |= llsyscall.AccessFSTruncate
	}
	if abi >= 4 {
		rights.HandledAccessNet = llsyscall.AccessNetBindTCP | llsyscall.AccessNetConnectTCP
	}
	if abi >= 6 {
		rights.Scoped = llsyscall.ScopeAbstractUnixSocket | llsyscall.ScopeSignal
	}
	rules, err := llsyscall.LandlockCreateRuleset(&rights, 0)
	if err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	defer unix.Close(rules)
	const read = llsyscall.AccessFSExecute | llsyscall.AccessFSReadFile | llsyscall.AccessFSReadDir
	const device = llsyscall.AccessFSReadFile | llsyscall.AccessFSWriteFile
	for _, r := range []struct {
		rights uint64
		names  []string
	}{
		{read, []string{"/usr", "/work", "/etc", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}},
		{device, []string{"/dev/null", "/dev/zero", "/dev/urandom"}},
	} {
		for _, name := range r.names {
			if err := allow(rules, name, r.rights); err != nil {
				return fmt.Errorf("landlock: %s: %w", name, err)
			}
		}
	}
	if err := llsyscall.LandlockRestrictSelf(rules, 0); err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	return nil
}

// allow adds everything below a path to a set of rules. A missing path needs no rule.
func allow(rules int, name string, rights uint64) error {
	fd, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return llsyscall.LandlockAddPathBeneathRule(rules, &llsyscall.PathBeneathAttr{ParentFd: fd, AllowedAccess: rights}, 0)
}

// powerless permanently drops root's capabilities inside the namespace.
func powerless() error {
	for c := range uintptr(unix.CAP_LAST_CAP + 1) {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) {
			return fmt.Errorf("capabilities cannot be dropped: %w", err)
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	var none [2]unix.CapUserData
	if err := unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0]); err != nil {
		return fmt.Errorf("capabilities cannot be dropped: %w", err)
	}
	return nil
}
