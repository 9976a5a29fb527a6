// Package host is the port to a managed machine. Verbs and the engine touch a
// machine through it and through nothing else.
//
//	h, err := local.Open("/", local.Options{})
//	st, err := h.Lstat("/etc/motd")
//
// Drivers: local (this machine, or another root on it), mem (a fake that can
// crash and lose what was not synced), fault (a decorator that fails or kills
// at the n-th operation). hosttest is the one suite that all of them pass.
//
// Paths are absolute, clean, with '/' and meant below the host's root: no path,
// ".." or symbolic link leads out of it. No operation follows a symbolic link
// at its last component. Symbolic links in the middle of a path are followed
// only when the link and the directory that holds it belong to root (the rule
// of systemd-tmpfiles), else the error is ErrUnsafePath.
package host

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"time"

	"fettle.dev/fettle/internal/image"
)

// Errors that callers act on. Missing paths give an error that is fs.ErrNotExist,
// existing ones fs.ErrExist; a full disk and the like unwrap to their errno.
var (
	// ErrUnsafePath: a link or directory on the way could be exchanged by
	// somebody who is not root.
	ErrUnsafePath = errors.New("unsafe path: a symbolic link on the way is not owned by root")
	// ErrUnsupported: this host cannot do that, for example units where no
	// systemd runs. The message says why.
	ErrUnsupported = errors.New("not supported on this host")
	// ErrNotEmpty: a directory that should go still has entries.
	ErrNotEmpty = errors.New("directory is not empty")
)

// Stat is what lstat tells of a path.
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
// more mutating operations, each of which a driver counts (see Counter).
// Implementations are safe for concurrent use.
type FS interface {
	Reader
	Writer
}

// Reader is the part of FS that changes nothing, not even access times where
// that can be avoided.
type Reader interface {
	Lstat(path string) (Stat, error)
	// ReadDir gives the names in a directory, sorted by byte.
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
	// SameMount tells whether a path and its parent are on one mount. A false
	// answer for a file means that it is a bind mount's target.
	SameMount(path string) (bool, error)
}

// Writer is the part of FS that changes the machine.
type Writer interface {
	// Create makes a new regular file with mode 0600; ErrExist if the name is
	// taken, even by a dangling link.
	Create(path string) (File, error)
	// OpenAppend opens or creates (0600) a file for appending: the journal.
	OpenAppend(path string) (File, error)
	// OpenWrite opens an existing regular file for writing in place: the way
	// for bind-mounted targets only. It does not truncate.
	OpenWrite(path string) (File, error)
	// OpenNode opens whatever stands at path for its metadata only.
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
	// SyncFS makes everything on the file system that holds path durable
	// (syncfs). It reports write-back errors of that file system. Whatever sync
	// failed, of this method or of others: what it should have written may never
	// be, and a later sync need not say so.
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
	// StartWriteback tells the kernel to begin writing, without waiting
	// (sync_file_range). It is a hint and counts as no operation.
	StartWriteback()
	// NextData gives the next stretch of data at or after off: [start, end).
	// start is the size at the end of the file. A file system that knows no
	// holes says that all is data.
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
	// Mutates tells that running it may change the machine: one mutating
	// operation before it starts.
	Mutates bool
	// Watch gets the output as it comes, in order of arrival, from one goroutine
	// at a time. It may hold the program up; when ctx ends it returns. p is lent.
	// nil: nobody watches.
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

// Accounts are the users and groups of the host's own files. Each setter
// compares first and writes nothing when all is as wanted.
//
// Give a before-image back whole: its Lines hold more than an account's lines,
// such as their places, so that the files become byte-identical again. Images
// without Lines are wishes: an empty Home or Shell leaves what is there, and
// taking an account away leaves its home and its group.
type Accounts interface {
	// User reads one account; a User with Present false when there is none.
	User(name string) (image.User, error)
	Group(name string) (image.Group, error)
	// SetUser makes the account be as the image, whatever it is now. create
	// holds the wishes for a new one that an image cannot say.
	SetUser(ctx context.Context, name string, to image.User, create NewUser) error
	// SetGroup is SetUser for groups. GID 0 lets the system choose (but for
	// the group root); nil Members leaves who is in it.
	SetGroup(ctx context.Context, name string, to image.Group, system bool) error
	SetMember(ctx context.Context, user, group string, present bool) error
}

// NewUser is what useradd is told besides the account itself.
type NewUser struct {
	System     bool
	CreateHome bool
	// AutoUID lets the system choose the number.
	AutoUID bool
	// OwnGroup gives the account a primary group of its own name, which is
	// made with a number of the system's choice where there is none. The
	// image's GID says nothing then. AutoUID with GID 0 means the same.
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

// PackageOutlook is what apt would do for changes, apart from what they ask for. All
// lists are sorted.
type PackageOutlook struct {
	// Comes are packages that apt installs, upgrades or downgrades with them.
	Comes []string
	// Leaves are installed packages that apt removes, since they cannot stay. If all
	// changes are removals, held packages are among them, which apt would not remove.
	Leaves []string
	// Unneeded are packages that nothing needs any more afterwards, so that apt-get
	// autoremove removes them: installed as dependencies, and not held.
	Unneeded []string
}

// PackageOffer is what apt knows of a package that is to be installed.
type PackageOffer struct {
	Version string // that would come: the one that was asked for, or the candidate
	// Unknown says why there is no such package or version, and what is there instead;
	// "" if there is one.
	Unknown string
}

// PackageOffers are the answers of apt about packages that are to be installed together.
type PackageOffers struct {
	By map[string]PackageOffer
	// NoLists tells that apt has no package lists, so that it knows nothing.
	NoLists bool
	// Along are the packages that come with them, sorted.
	Along []string
	// Leaves are installed packages that apt removes for them, sorted.
	Leaves []string
	// Download is how many bytes apt fetches for all of them, -1 if that is not known.
	Download int64
	// Failure is apt's reason if they cannot be installed together.
	Failure string
}

// Packages is apt and dpkg.
type Packages interface {
	// Installed reads many packages at once. Names unknown to dpkg are
	// present in the result with an empty Version.
	Installed(ctx context.Context, names []string) (map[string]image.Package, error)
	// Change does everything in one apt transaction, without any prompt. It
	// waits for the dpkg lock and says so through progress. It returns what
	// else the transaction changed: name to version before.
	Change(ctx context.Context, changes []PackageChange, progress func(string)) (also map[string]string, err error)
	// Simulate tells what Change would do besides, without doing it.
	Simulate(ctx context.Context, changes []PackageChange) (also map[string]string, err error)
	// Outlook tells in more detail what apt would do for the changes. Packages in
	// keep count as installed by an administrator.
	Outlook(ctx context.Context, changes []PackageChange, keep []string) (PackageOutlook, error)
	// Offers tells what apt knows of packages that are to come.
	Offers(ctx context.Context, changes []PackageChange) (PackageOffers, error)
	// NeededBy lists for each package the installed packages that depend on it, recommend
	// it or suggest it, sorted.
	NeededBy(ctx context.Context, names []string) (map[string][]string, error)
	// Audit describes a half-configured system, "" when all is well.
	Audit(ctx context.Context) (string, error)
	// Repair finishes what an interrupted dpkg left (dpkg --configure -a).
	Repair(ctx context.Context, progress func(string)) error
	// Remains tells what stays when each of these packages is removed, or has
	// stayed of one that was removed. Unknown names have an empty answer.
	Remains(ctx context.Context, names []string) (map[string]image.Remains, error)
	// Keep fetches the .deb of an installed version into dir of the host, so
	// that it can be restored; false when it cannot be had.
	Keep(ctx context.Context, name, version string) (deb string, ok bool, err error)
}

// Units is the service manager.
type Units interface {
	// Unit reads one unit; Loaded is false for a name that it does not know.
	Unit(ctx context.Context, name string) (image.Unit, error)
	// Reload is daemon-reload.
	Reload(ctx context.Context) error
	// NeedsReload tells whether the unit's files changed since they were read.
	NeedsReload(ctx context.Context, name string) (bool, error)
	SetEnabled(ctx context.Context, name string, on bool) error
	SetMasked(ctx context.Context, name string, on bool) error
	// Job runs start, stop, restart, reload, try-restart or
	// reload-or-restart, waits for its end, and returns an error with the
	// unit's last log lines when it failed.
	Job(ctx context.Context, verb, name string) error
}

// Host is one machine. It is the one interface of the project that is large;
// each capability that can be absent is reached through an accessor whose error
// is ErrUnsupported with the reason.
type Host interface {
	FS
	// Root is where the host's "/" is on this machine, for messages.
	Root() string
	Run(ctx context.Context, c Command) (CommandResult, error)
	Accounts() Accounts
	Packages() (Packages, error)
	Units() (Units, error)
	// BootID changes with each boot; "" where it cannot be told.
	BootID() string
}

// Counter is called before each mutating operation with its name and path. A
// driver that is given one calls it from the operation's goroutine; an error
// is returned by the operation instead of doing it.
type Counter func(op, path string) error

// Exists tells whether something stands at path. It is false for any path
// whose parent is missing.
func Exists(r Reader, path string) (bool, error) {
	_, err := r.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
