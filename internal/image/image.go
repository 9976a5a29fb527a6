// Package image contains images. An image is the complete state of one address at one moment, as data.
// The image that a step finds is its before-image, and the image that it should leave is its target.
// Each change is a move from one image to another. Its undo is the move with the two images exchanged.
// After a crash, the present image shows whether the move has happened.
//
//	before := image.Image{File: &image.File{Type: image.Absent}}
//	after := image.Image{File: &image.File{Type: image.Regular, Mode: 0o644, Digest: d}}
//	before.Same(after) // false
//
// Images have no content: the bytes of a file are a blob in the object store under Digest. Owners are
// numbers, not names. The JSON of images is a part of the journal format.
package image

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"strings"
)

// Image is the state of one address. Exactly one field is set; the zero Image means that the state is
// unknown.
type Image struct {
	File    *File    `json:"file,omitempty"`    // file: and meta: addresses
	Region  *Region  `json:"region,omitempty"`  // edit:
	User    *User    `json:"user,omitempty"`    // user:
	Group   *Group   `json:"group,omitempty"`   // group:
	Member  *Member  `json:"member,omitempty"`  // member:
	Package *Package `json:"package,omitempty"` // pkg:
	Unit    *Unit    `json:"unit,omitempty"`    // unit:
	Sysctl  *Sysctl  `json:"sysctl,omitempty"`  // sysctl:
	Exec    *Exec    `json:"exec,omitempty"`    // exec:
}

// FileType is the type of the object at a path.
type FileType string

// The types. Absent is a type too: a step can find or leave an absent path.
const (
	Absent    FileType = "absent"
	Regular   FileType = "file"
	Directory FileType = "dir"
	Symlink   FileType = "link"
	Fifo      FileType = "fifo"
	Socket    FileType = "socket"
	CharDev   FileType = "char"
	BlockDev  FileType = "block"
)

// File is the state of a path. It does not follow a symbolic link at the end of the path.
type File struct {
	Type FileType `json:"type"`
	Mode uint32   `json:"mode,omitempty"` // the 12 permission bits
	UID  uint32   `json:"uid,omitempty"`
	GID  uint32   `json:"gid,omitempty"`
	Size int64    `json:"size,omitempty"` // bytes, regular files
	// MTime is the modification time in the form of MTimeOf; 0 means unknown. A restore sets it, but
	// Same does not compare it.
	MTime  int64  `json:"mtime,omitempty"`
	Digest string `json:"digest,omitempty"` // sha256:hex of the content, regular files
	// Sealed is the ID of the key that encrypts the content, or "" if the content has no secret.
	// Digest is then the digest of the encrypted content.
	Sealed string `json:"sealed,omitempty"`
	Target string `json:"target,omitempty"` // symbolic links
	Rdev   uint64 `json:"rdev,omitempty"`   // devices
	// Xattrs has all extended attributes, including ACLs and capabilities.
	Xattrs map[string][]byte `json:"xattrs,omitempty"`
	// Attrs are the inode attributes of FS_IOC_GETFLAGS that a user may set.
	Attrs uint32 `json:"attrs,omitempty"`
	// Tree is the digest of the manifest of all content below a directory that was captured as a whole
	// (see Manifest). It is "" for a directory by itself.
	Tree string `json:"tree,omitempty"`
	// Entries are the names in a directory, sorted. They are set only on request.
	Entries []string `json:"entries,omitempty"`
	// Nlink is the number of hard links if it is greater than one.
	Nlink uint64 `json:"nlink,omitempty"`
}

// epoch is the MTime of the exact beginning of 1970, which reproducible builds use.
const epoch = math.MinInt64

// MTimeOf converts nanoseconds since 1970 to the form of MTime.
func MTimeOf(ns int64) int64 {
	if ns == 0 {
		return epoch
	}
	return ns
}

// ModTime converts MTime to nanoseconds since 1970; known is false if it is unknown.
func (f File) ModTime() (ns int64, known bool) {
	if f.MTime == epoch {
		return 0, true
	}
	return f.MTime, f.MTime != 0
}

// Region is the part of a file that an EDIT step owns.
type Region struct {
	Present bool   `json:"present"`
	Text    string `json:"text,omitempty"` // its lines with line ends, without the markers
	// Line is its original line number, from 1, so that the undo restores its position.
	Line int `json:"line,omitempty"`
	// NoEOL reports that the file had no newline at its end.
	NoEOL bool `json:"no_eol,omitempty"`
	// FileAbsent reports that the file did not exist.
	FileAbsent bool `json:"file_absent,omitempty"`
	// FileEmpty reports that the file is empty: it contains neither the region nor other content.
	FileEmpty bool `json:"bare,omitempty"`
	// Others are the further occurrences of the region, in order, for a step that removes all of them.
	Others []Place `json:"others,omitempty"`
	// CutEnd reports that the end marker of a block was the end of the file, without a newline.
	CutEnd bool `json:"cut_end,omitempty"`
	// Source is the text of a value of a JSON, YAML, TOML, INI or XML file in the file. Text is then
	// the value in its canonical form for comparison.
	Source *Source `json:"source,omitempty"`
	// Encrypted are Text, Others and Source of a region with a secret, encrypted. Text is then the
	// reference to the encrypted value for comparison, and Others and Source are empty.
	Encrypted []byte `json:"words,omitempty"`
	// EarlierVersions are versions of the whole file before it was edited. If the file has the same content again,
	// its time is restored.
	EarlierVersions []Version `json:"was,omitempty"`
	// Nlink is the number of hard links of the file if it is greater than one.
	Nlink uint64 `json:"nlink,omitempty"`
}

// Version is the content of a file at one moment, with its modification time.
type Version struct {
	Digest string `json:"digest,omitempty"`
	MTime  int64  `json:"mtime,omitempty"` // as in File
}

// TimeOf returns the MTime that a file with the region had when it had the content of f. If no such
// version is known, it returns the MTime of f.
func (r Region) TimeOf(f File) int64 {
	for _, v := range r.EarlierVersions {
		if v.Digest == f.Digest && v.Digest != "" {
			return v.MTime
		}
	}
	return f.MTime
}

// Source is the text of a value in its file.
type Source struct {
	// Text is the text of the value. For an absent value, it is the text of the mapping around it, if
	// that mapping is empty.
	Text  string `json:"text,omitempty"`
	Depth int    `json:"depth,omitempty"` // number of parts of its key that exist
	Cut   *Cut   `json:"cut,omitempty"`   // for a value that will be removed
}

// Cut describes the text that is removed with a value, and its position. With it, the value can be
// restored at its position even if other parts of the file have changed.
type Cut struct {
	Text   string  `json:"text"`             // the removed text
	With   string  `json:"with,omitempty"`   // the text that replaces it
	Depth  int     `json:"depth,omitempty"`  // number of key parts of the mapping around it
	Behind *string `json:"behind,omitempty"` // key of the value before it; nil at the beginning
	Nth    int     `json:"nth,omitempty"`    // number of earlier values with that key
	Skip   int     `json:"skip,omitempty"`   // bytes between the end of that value and the removed text
}

// Place is one occurrence of a region that a file contains several times.
type Place struct {
	Text string `json:"text,omitempty"`
	Line int    `json:"line,omitempty"` // from 1
}

// User is an account of passwd(5). Supplementary groups are separate addresses of type Member.
type User struct {
	Present bool   `json:"present"`
	UID     uint32 `json:"uid,omitempty"`
	GID     uint32 `json:"gid,omitempty"`
	Comment string `json:"comment,omitempty"`
	Home    string `json:"home,omitempty"`
	Shell   string `json:"shell,omitempty"`
	// Password is a reference to the encrypted hash of the password, if the list sets the password.
	// Below the host of package sealed it is the hash itself, in desired images only.
	Password string `json:"password,omitempty"`
	// Lines are the lines of the account in passwd, shadow, subuid and subgid. They restore values
	// that the account tools cannot set. They can contain a password hash, which is encrypted if the
	// list sets the password. Images are stored with mode 0600 and never printed.
	Lines map[string]string `json:"lines,omitempty"`
	// HomeMade reports that the home directory did not exist before.
	HomeMade bool `json:"home_made,omitempty"`
	// HomeDir is the complete home directory that was deleted with the account.
	HomeDir *File `json:"home_dir,omitempty"`
}

// Group is a group of group(5).
type Group struct {
	Present bool              `json:"present"`
	GID     uint32            `json:"gid,omitempty"`
	Members []string          `json:"members,omitempty"`
	Lines   map[string]string `json:"lines,omitempty"` // group and gshadow
}

// Member is the membership of a user in a supplementary group.
type Member struct {
	Present bool `json:"present"`
}

// Package is the state of a package in dpkg and apt.
type Package struct {
	Version string `json:"version,omitempty"` // "" if it is not installed
	// Status is the status abbreviation of dpkg without the error flag, for example "ii", "rc", "iU".
	// It is "" if dpkg has no record of the package.
	Status string `json:"status,omitempty"`
	Held   bool   `json:"held,omitempty"`
	Auto   bool   `json:"auto,omitempty"` // installed as a dependency only
	// DebStored reports that the .deb of Version is stored, so that the version can be restored.
	DebStored bool `json:"kept,omitempty"`
	// Purged requests, for an absent package, that its configuration and data are deleted too. It is
	// set in desired images only.
	Purged bool `json:"purged,omitempty"`
	// AlsoChanged are the packages that the same transaction added or changed, so that the undo can restore
	// them. The value is the version before, or "" if the package was not installed.
	AlsoChanged map[string]string `json:"also,omitempty"`
	// AutoBefore are the packages that were marked as dependencies before, sorted. They are packages of
	// AlsoChanged, and packages whose mark the transaction changed.
	AutoBefore []string `json:"autos,omitempty"`
}

// Unfinished reports whether dpkg has begun but not completed a change of the package: half installed,
// unpacked, half configured, or with pending triggers.
func (p Package) Unfinished() bool {
	return len(p.Status) == 2 && strings.ContainsRune("HUFWt", rune(p.Status[1]))
}

// Rest reports whether the configuration of a removed package still exists.
func (p Package) Rest() bool {
	return p.Version == "" && len(p.Status) == 2 && p.Status[1] == 'c'
}

// purgeable reports whether p has remaining configuration that desired deletes.
func (p Package) purgeable(desired Package) bool { return desired.Purged && p.Rest() }

// Remains is the data of a package that a removal leaves and a purge deletes.
type Remains struct {
	Conffiles []string `json:"conffiles,omitempty"` // existing configuration files, sorted
	// Dirs are directories of the package below /var and /srv, sorted, that contain files from other
	// sources.
	Dirs []string `json:"dirs,omitempty"`
	// Purges reports that a maintainer script of the package runs at a purge, which can delete
	// anything.
	Purges bool `json:"purges,omitempty"`
}

// Empty reports whether a purge deletes nothing more than a removal does.
func (r Remains) Empty() bool { return len(r.Conffiles) == 0 && len(r.Dirs) == 0 && !r.Purges }

// String describes the remaining data, or returns "".
func (r Remains) String() string {
	var parts []string
	if len(r.Conffiles) > 0 {
		parts = append(parts, "configuration in "+some(r.Conffiles))
	}
	if len(r.Dirs) > 0 {
		parts = append(parts, "data in "+some(r.Dirs))
	}
	return strings.Join(parts, " and ")
}

// Stay returns the verb and the pronoun for a sentence about the remaining data.
func (r Remains) Stay() (verb, it string) {
	if len(r.Conffiles) > 0 && len(r.Dirs) > 0 {
		return "stay", "them"
	}
	return "stays", "it"
}

// some returns the first names of a list that may be long.
func some(list []string) string {
	const shown = 4
	if len(list) > shown {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:shown], ", "), len(list)-shown)
	}
	return strings.Join(list, ", ")
}

// Leaving reports whether an installed package is marked for removal, by a user or by an interrupted
// removal.
func (p Package) Leaving() bool {
	return p.Version != "" && len(p.Status) == 2 && strings.ContainsRune("rp", rune(p.Status[0]))
}

// Condition describes the status letters of dpkg.
func (p Package) Condition() string {
	if len(p.Status) != 2 {
		return "not installed"
	}
	if p.Leaving() && !p.Unfinished() {
		return "marked for removal"
	}
	return map[byte]string{
		'H': "half installed", 'U': "unpacked, not configured", 'F': "half configured",
		'W': "waiting for triggers", 't': "triggers to process", 'i': "installed",
	}[p.Status[1]]
}

// Sysctl is the value of a kernel setting.
type Sysctl struct {
	Present bool   `json:"present"`
	Value   string `json:"value,omitempty"`
}

// Exec is whether a command has had its effect. Known is false if only the record of earlier runs has
// this information.
type Exec struct {
	Known bool `json:"known"`
	Done  bool `json:"done"`
	// NotWanted reports that the command counts as done only because its only_if does not hold.
	NotWanted bool `json:"not_wanted,omitempty"`
	// GuardsNotRun is the reason why its guards were not run, or "". The run then executes the guards
	// before the command.
	GuardsNotRun string `json:"unasked,omitempty"`
	// MissingProgram is the program of the command if it is missing on the host.
	MissingProgram string `json:"lacks,omitempty"`
	// Output is the output of the command for later steps. Same does not compare it.
	Output *string `json:"output,omitempty"`
}

// Known reports whether the state is known.
func (i Image) Known() bool { return i != (Image{}) }

// Same reports whether two images are the same state. It ignores values that change on their own or
// only support the undo: times, link counts, line numbers of regions, and entries.
func (i Image) Same(o Image) bool {
	switch {
	case i.File != nil && o.File != nil:
		return i.File.Same(*o.File)
	case i.Region != nil && o.Region != nil:
		return i.Region.Present == o.Region.Present && i.Region.Text == o.Region.Text
	case i.User != nil && o.User != nil:
		return i.User.same(*o.User)
	case i.Group != nil && o.Group != nil:
		return i.Group.Present == o.Group.Present && i.Group.GID == o.Group.GID
	case i.Member != nil && o.Member != nil:
		return *i.Member == *o.Member
	case i.Package != nil && o.Package != nil:
		a, b := *i.Package, *o.Package
		return a.Version == b.Version && a.Held == b.Held && a.Unfinished() == b.Unfinished() &&
			a.Leaving() == b.Leaving() && !a.purgeable(b) && !b.purgeable(a)
	case i.Unit != nil && o.Unit != nil:
		return *i.Unit == *o.Unit
	case i.Sysctl != nil && o.Sysctl != nil:
		return *i.Sysctl == *o.Sysctl
	case i.Exec != nil && o.Exec != nil:
		return i.Exec.Known == o.Exec.Known && i.Exec.Done == o.Exec.Done
	}
	return !i.Known() && !o.Known()
}

// Same reports whether two paths are equal, except for times.
func (f File) Same(o File) bool {
	if f.Type != o.Type {
		return false
	}
	if f.Type == Absent {
		return true
	}
	if f.UID != o.UID || f.GID != o.GID || f.Target != o.Target || f.Digest != o.Digest || f.Sealed != o.Sealed ||
		f.Tree != o.Tree || f.Rdev != o.Rdev || f.Attrs != o.Attrs {
		return false
	}
	if f.Type != Symlink && f.Mode != o.Mode {
		return false
	}
	return maps.EqualFunc(f.Xattrs, o.Xattrs, bytes.Equal)
}

func (u User) same(o User) bool {
	return u.Present == o.Present && u.UID == o.UID && u.GID == o.GID &&
		u.Comment == o.Comment && u.Home == o.Home && u.Shell == o.Shell && u.Password == o.Password
}
