// Package host is the port to a managed host. Verbs and the engine access a host only through it.
//
//	h, err := local.Open("/", local.Options{})
//	st, err := h.Lstat("/etc/motd")
//
// Drivers:
//
//   - local: this host, or another root on it
//   - mem: a fake that can crash and lose unsynced data
//   - fault: a decorator that fails or kills at the n-th operation
//
// hosttest is the common test suite of all drivers.
//
// Paths are absolute and clean, with '/', and relative to the host's root: no path, ".." or
// symbolic link leads out of it. No operation follows a symbolic link at its last component. A
// symbolic link in the middle of a path is followed only if the link and its directory belong to
// root (the rule of systemd-tmpfiles); otherwise the error is ErrUnsafePath.
package host

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"time"

	"fettle.dev/fettle/internal/image"
)

// Errors that callers distinguish. For missing paths the error is fs.ErrNotExist, also if a parent is not
// a directory or ends in a loop of links. For existing paths it is fs.ErrExist. A full disk and similar
// errors unwrap to their errno.
var (
	// ErrUnsafePath: a user other than root could replace a link or directory of the path.
	ErrUnsafePath = errors.New("unsafe path: a symbolic link in it is not owned by root")
	// ErrUnsupported: this host does not support the operation, for example units without systemd.
	// The message has the reason.
	ErrUnsupported = errors.New("not supported on this host")
	// ErrNotEmpty: a directory to remove still has entries.
	ErrNotEmpty = errors.New("directory is not empty")
)

// Stat is the result of lstat for a path.
type Stat struct {
	Type  image.FileType
	Mode  uint32 // 12 bits
	UID   uint32
	GID   uint32
	Size  int64
	MTime int64 // ns since 1970
	CTime int64 // ns since 1970
	ATime int64 // ns since 1970
	Ino   uint64
	Dev   uint64
	Nlink uint64
	Rdev  uint64
}

// FS is the file system of a host. Every call that changes something is one or
// more mutating operations, each of which a driver counts (see OperationHook).
// Implementations are safe for concurrent use.
type FS interface {
	Reader
	Writer
}

// Reader is the part of FS that changes nothing, not even access times where
// that can be avoided.
type Reader interface {
	Lstat(path string) (Stat, error)
	// ReadDir returns the names in a directory, sorted by byte.
	ReadDir(path string) ([]string, error)
	Readlink(path string) (string, error)
	// Open opens an existing regular file for reading. A final symbolic link,
	// a device or a fifo is an error, never a hang.
	Open(path string) (File, error)
	// Xattrs reads every extended attribute of the path itself; nil when
	// there is none or the file system has none.
	Xattrs(path string) (map[string][]byte, error)
	// Attrs reads the inode attributes that a user may set (FS_IOC_GETFLAGS,
	// masked); 0 where the file system has none.
	Attrs(path string) (uint32, error)
	// SameMount reports whether a path and its parent are on one mount. False for a file means that
	// it is the target of a bind mount.
	SameMount(path string) (bool, error)
}

// Writer is the part of FS that changes the host.
type Writer interface {
	// Create makes a new regular file with mode 0600; ErrExist if the name is
	// taken, even by a dangling link.
	Create(path string) (File, error)
	// OpenAppend opens or creates (0600) a file for appending: the journal.
	OpenAppend(path string) (File, error)
	// OpenWrite opens an existing regular file for writing in place: the way
	// for bind-mounted targets only. It does not truncate.
	OpenWrite(path string) (File, error)
	// OpenNode opens the file of any type at path, only for its metadata.
	OpenNode(path string) (Node, error)
	// Mkdir makes a directory with exactly this mode, owned by the caller.
	Mkdir(path string, mode uint32) error
	Symlink(target, path string) error
	// Link makes newpath a hard link of oldpath.
	Link(oldpath, newpath string) error
	// Mknod makes a fifo, socket or device.
	Mknod(path string, typ image.FileType, mode uint32, rdev uint64) error
	// Rename replaces newpath atomically.
	Rename(oldpath, newpath string) error
	// RenameNew is Rename that fails with ErrExist when newpath is taken.
	RenameNew(oldpath, newpath string) error
	// Remove unlinks a path or removes an empty directory (ErrNotEmpty).
	Remove(path string) error
	// SyncDir makes the entries of a directory durable (fsync).
	SyncDir(path string) error
	// SyncFS makes all data on the file system of path durable (syncfs). It reports write-back
	// errors of that file system. After any sync fails, its data may never be written, and a later
	// sync does not necessarily report that.
	SyncFS(path string) error
}

// Node is an open inode. Each setter is one mutating operation.
type Node interface {
	Stat() (Stat, error)
	Chown(uid, gid uint32) error
	// Chmod sets the 12 bits. Links have no mode: ErrUnsupported.
	Chmod(mode uint32) error
	SetXattr(name string, value []byte) error
	RemoveXattr(name string) error
	// SetAttrs sets the inode attributes that Attrs reads.
	SetAttrs(attrs uint32) error
	// SetTimes sets access and modification time, ns since 1970.
	SetTimes(atime, mtime int64) error
	Close() error
}

// File is an open regular file.
type File interface {
	Node
	io.Reader
	io.ReaderAt
	io.Writer
	io.Seeker
	Truncate(size int64) error
	// Sync makes content and size durable (fdatasync), and metadata that was
	// set through this File (then fsync). Metadata set through a Node is
	// durable after SyncFS.
	Sync() error
	// StartWriteback asks the kernel to begin writing, without waiting (sync_file_range). It is a
	// hint and does not count as an operation.
	StartWriteback()
	// NextData returns the next range of data at or after off: [start, end). start is the size at
	// the end of the file. On a file system without holes, all ranges are data.
	NextData(off int64) (start, end int64, err error)
}

// Command is a program to run. No shell takes part.
type Command struct {
	Argv  []string // Argv[0] is looked up in PATH unless it holds a slash
	Dir   string   // "/" when empty
	Env   []string // NAME=VALUE added to a clean environment (PATH, LANG=C.UTF-8, HOME)
	User  string   // "" means the engine's own
	Stdin []byte
	// Timeout ends the whole process tree, children that changed their session
	// included; 0 means 5 minutes.
	Timeout time.Duration
	// Mutates is set if the command can change the host: one mutating operation before it starts.
	Mutates bool
	// Watch receives the output immediately, in order of arrival, from one goroutine at a time. It
	// can block the program; it must return when ctx ends. p is valid only during the call. nil: no
	// output is passed on.
	Watch func(stderr bool, p []byte)
}

// CommandResult is how a program ended. Output beyond 1 MiB a stream is cut in
// the middle and the cut is marked.
type CommandResult struct {
	ExitCode int // -1 when a signal or the timeout ended it
	// Signal is the name of the signal that ended it, such as "killed"; "" for none.
	Signal   string
	Stdout   []byte
	Stderr   []byte
	TimedOut bool
}

// Accounts are the users and groups of the host's own files. Each setter compares first and writes
// nothing if there are no changes.
//
// To restore an account, pass the complete before-image. Its Lines also contain the places of
// lines, so that the files become byte-identical again. An image without Lines is a desired state:
// an empty Home or Shell leaves the current one, and the removal of an account leaves its home and
// its group.
type Accounts interface {
	// User reads one account; a User with Present false when there is none.
	User(name string) (image.User, error)
	Group(name string) (image.Group, error)
	// SetUser changes the account to the image, from any state. create has options for a new
	// account that an image does not contain.
	SetUser(ctx context.Context, name string, to image.User, create NewUser) error
	// SetGroup is SetUser for groups. With GID 0 the system chooses the number (except for the
	// group root); nil Members leaves the members unchanged.
	SetGroup(ctx context.Context, name string, to image.Group, system bool) error
	SetMember(ctx context.Context, user, group string, present bool) error
}

// NewUser are the options of useradd in addition to the account itself.
type NewUser struct {
	System     bool
	CreateHome bool
	// AutoUID: the system chooses the number.
	AutoUID bool
	// OwnGroup gives the account a primary group with its own name. If the group is missing, it is
	// created with a number that the system chooses. The image's GID is then ignored. AutoUID with
	// GID 0 has the same meaning.
	OwnGroup bool
}

// PackageChange is one package of a transaction.
type PackageChange struct {
	Name    string
	Version string // exact; "" is the candidate
	Absent  bool   // remove; configuration and data stay
	Purge   bool   // with Absent: delete them too
	Held    *bool  // nil leaves it
	Auto    *bool
}

// PackageOutlook are the additional changes that apt would make with the requested changes. All
// lists are sorted.
type PackageOutlook struct {
	// Installs are additional packages that apt installs, upgrades or downgrades.
	Installs []string
	// Removes are installed packages that apt removes because of conflicts. If all changes are
	// removals, the list includes held packages, which apt would not remove.
	Removes []string
	// Unneeded are packages that are no longer needed afterwards and that apt-get autoremove
	// removes: installed as dependencies, and not held.
	Unneeded []string
}

// PackageOffer is apt's information about a package to install.
type PackageOffer struct {
	Version string // the version that apt would install: the requested one, or the candidate
	// Unknown is the reason if the package or version does not exist, with the available
	// alternatives; "" if it exists.
	Unknown string
}

// PackageOffers are apt's answers about packages to install together.
type PackageOffers struct {
	By map[string]PackageOffer
	// NoLists: apt has no package lists, and therefore no information.
	NoLists bool
	// Additional are the additional packages that are installed, sorted.
	Additional []string
	// Removes are installed packages that apt removes for them, sorted.
	Removes []string
	// Download is how many bytes apt fetches for all of them, -1 if that is not known.
	Download int64
	// Failure is apt's reason if they cannot be installed together.
	Failure string
}

// Progress is a message about a long operation that still runs.
type Progress struct {
	Text string
	// Waits tells that the operation waits for another process, which Text names.
	Waits bool
}

// Packages is apt and dpkg.
type Packages interface {
	// Installed reads many packages at once. Names unknown to dpkg are
	// present in the result with an empty Version.
	Installed(ctx context.Context, names []string) (map[string]image.Package, error)
	// Change makes all changes in one apt transaction, without any prompt. It waits for the dpkg
	// lock, and reports this and the steps of apt through progress. It returns the additional changes of the transaction:
	// name to previous version.
	Change(ctx context.Context, changes []PackageChange, progress func(Progress)) (also map[string]string, err error)
	// Simulate returns the additional changes that Change would make, without making them.
	Simulate(ctx context.Context, changes []PackageChange) (also map[string]string, err error)
	// Outlook returns more details of apt's additional changes. Packages in keep count as installed
	// by an administrator.
	Outlook(ctx context.Context, changes []PackageChange, keep []string) (PackageOutlook, error)
	// Offers returns apt's information about packages to install.
	Offers(ctx context.Context, changes []PackageChange) (PackageOffers, error)
	// NeededBy lists for each package the installed packages that depend on it, recommend
	// it or suggest it, sorted.
	NeededBy(ctx context.Context, names []string) (map[string][]string, error)
	// Audit describes a half-configured system, "" when all is well.
	Audit(ctx context.Context) (string, error)
	// Repair finishes what an interrupted dpkg left (dpkg --configure -a).
	Repair(ctx context.Context, progress func(Progress)) error
	// Remains returns the data that remains, or would remain, after the removal of each of these
	// packages. Unknown names have an empty result.
	Remains(ctx context.Context, names []string) (map[string]image.Remains, error)
	// Keep stores the .deb of an installed version in a directory of the host, so that the version
	// can be restored; false if it is not available.
	Keep(ctx context.Context, name, version string) (deb string, ok bool, err error)
}

// Units is the service manager.
type Units interface {
	// Unit reads one unit; Loaded is false for a name that it does not know.
	Unit(ctx context.Context, name string) (image.Unit, error)
	// Reload is daemon-reload.
	Reload(ctx context.Context) error
	// NeedsReload reports whether the unit's files changed since systemd read them.
	NeedsReload(ctx context.Context, name string) (bool, error)
	SetEnabled(ctx context.Context, name string, on bool) error
	SetMasked(ctx context.Context, name string, on bool) error
	// Job runs start, stop, restart, reload, try-restart or reload-or-restart, and waits for its
	// end. If it fails, the error contains the unit's last log lines.
	Job(ctx context.Context, verb, name string) error
}

// Host is one host. It is the only large interface of the project. Each optional capability has an
// accessor whose error is ErrUnsupported with the reason.
type Host interface {
	FS
	// Root returns the path of the host's "/" on the local host, for messages.
	Root() string
	Run(ctx context.Context, c Command) (CommandResult, error)
	Accounts() Accounts
	Packages() (Packages, error)
	Units() (Units, error)
	// BootID changes with each boot; "" if it is unknown.
	BootID() string
}

// OperationHook is called before each mutating operation with its name and path. A
// driver that is given one calls it from the operation's goroutine; an error
// is returned by the operation instead of doing it.
type OperationHook func(op, path string) error

// Exists reports whether a file of any type exists at path. It is false for a path whose parent is
// missing.
func Exists(r Reader, path string) (bool, error) {
	_, err := r.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
