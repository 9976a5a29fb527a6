// Package image holds images: the whole state of one address at one moment,
// as data. What a step finds is its before-image; what it will leave is its
// target. Every change is a move from one image to another, so the way back is
// the same move with the two exchanged, and after a crash the present image
// tells which side of the move the address is on.
//
//	before := image.Image{File: &image.File{Type: image.Absent}}
//	after := image.Image{File: &image.File{Type: image.Regular, Mode: 0o644, Digest: d}}
//	before.Same(after) // false
//
// Images hold no content: a file's bytes are a blob in the object store under
// Digest. They hold numbers, not names, for owners. Their JSON is part of the
// journal format.
package image

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"strings"
)

// Image is the state of one address. Exactly one field is set; the zero Image
// says nothing is known.
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

// FileType is what stands at a path.
type FileType string

// The types. Absent is an image too: a step can find or leave nothing.
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

// File is the state of a path, not following a final symbolic link.
type File struct {
	Type FileType `json:"type"`
	Mode uint32   `json:"mode,omitempty"` // the 12 permission bits
	UID  uint32   `json:"uid,omitempty"`
	GID  uint32   `json:"gid,omitempty"`
	Size int64    `json:"size,omitempty"` // bytes, regular files
	// MTime is in nanoseconds since 1970, as MTimeOf has it: 0 says nothing. It is
	// restored, and never compared.
	MTime  int64  `json:"mtime,omitempty"`
	Digest string `json:"digest,omitempty"` // sha256:hex of the content, regular files
	// Sealed is the ID of the key that the content is sealed with, which Digest
	// names as it is sealed; "" for content that is no secret.
	Sealed string `json:"sealed,omitempty"`
	Target string `json:"target,omitempty"` // symbolic links
	Rdev   uint64 `json:"rdev,omitempty"`   // devices
	// Xattrs holds every extended attribute, ACLs and capabilities included.
	Xattrs map[string][]byte `json:"xattrs,omitempty"`
	// Attrs are the inode attributes of FS_IOC_GETFLAGS that a user may set.
	Attrs uint32 `json:"attrs,omitempty"`
	// Tree is the digest of the manifest of everything below, for a directory
	// that was taken whole (see Manifest); "" for a directory by itself.
	Tree string `json:"tree,omitempty"`
	// Entries are the names in a directory, sorted; filled only where asked.
	Entries []string `json:"entries,omitempty"`
	// Nlink is the number of hard links when it is more than one.
	Nlink uint64 `json:"nlink,omitempty"`
}

// epoch is the MTime of what was modified just when 1970 began, a time that
// reproducible builds give their files.
const epoch = math.MinInt64

// MTimeOf gives the MTime that says a time in nanoseconds since 1970.
func MTimeOf(ns int64) int64 {
	if ns == 0 {
		return epoch
	}
	return ns
}

// ModTime gives the time that MTime says, in nanoseconds since 1970; known is
// false when it says nothing.
func (f File) ModTime() (ns int64, known bool) {
	if f.MTime == epoch {
		return 0, true
	}
	return f.MTime, f.MTime != 0
}

// Region is the part of a file that an EDIT owns.
type Region struct {
	Present bool   `json:"present"`
	Text    string `json:"text,omitempty"` // its lines with their newlines, markers left out
	// Line is where it stood, from 1, so that undo can put it back in place.
	Line int `json:"line,omitempty"`
	// NoEOL tells that the file did not end in a newline before.
	NoEOL bool `json:"no_eol,omitempty"`
	// FileAbsent tells that the file itself was not there.
	FileAbsent bool `json:"file_absent,omitempty"`
	// Bare tells that the file has nothing in it, neither the region nor anything else.
	Bare bool `json:"bare,omitempty"`
	// Others are the further places of the region, from the first to the last,
	// for a step that takes all of them away.
	Others []Place `json:"others,omitempty"`
	// CutEnd tells that the end marker of a block was the end of the file and
	// had no newline.
	CutEnd bool `json:"cut_end,omitempty"`
	// Source tells how a value of a JSON, YAML, TOML, INI or XML file stands
	// there; Text is then the value in the form that it is compared in.
	Source *Source `json:"source,omitempty"`
	// Words is the Text, Others and Source of a region with a secret in it, sealed.
	// Text is then the reference to what is compared, sealed, and the others say
	// nothing.
	Words []byte `json:"words,omitempty"`
	// Was are versions of the whole file that were found before it was edited, so
	// that a file which is the same again gets its time back.
	Was []Version `json:"was,omitempty"`
	// Nlink is the number of hard links of the file when it is more than one.
	Nlink uint64 `json:"nlink,omitempty"`
}

// Version is what a file held at one moment, and the time of its last change.
type Version struct {
	Digest string `json:"digest,omitempty"`
	MTime  int64  `json:"mtime,omitempty"` // as in File
}

// TimeOf is the MTime that a file with the region had when its content was as in
// f; that of f when no such version is known.
func (r Region) TimeOf(f File) int64 {
	for _, v := range r.Was {
		if v.Digest == f.Digest && v.Digest != "" {
			return v.MTime
		}
	}
	return f.MTime
}

// Source is how a value is written in its file.
type Source struct {
	// Text is its own words; of one that is not there, those of the mapping that
	// it would be in, when that is empty.
	Text  string `json:"text,omitempty"`
	Depth int    `json:"depth,omitempty"` // how many parts of its key are there
	Cut   *Cut   `json:"cut,omitempty"`   // for one that is to go
}

// Cut is what goes with a value, and where: enough to put it back in its place
// while the rest of the file may have changed.
type Cut struct {
	Text   string  `json:"text"`             // what goes
	With   string  `json:"with,omitempty"`   // what stands there instead
	Depth  int     `json:"depth,omitempty"`  // parts of the key of what it is in
	Behind *string `json:"behind,omitempty"` // key of the one before it; nil at the beginning
	Nth    int     `json:"nth,omitempty"`    // so many of that key come before it
	Skip   int     `json:"skip,omitempty"`   // bytes behind the end of that one
}

// Place is one place of a region that stands in a file more than once.
type Place struct {
	Text string `json:"text,omitempty"`
	Line int    `json:"line,omitempty"` // from 1
}

// User is an account as in passwd(5). Supplementary groups are members.
type User struct {
	Present bool   `json:"present"`
	UID     uint32 `json:"uid,omitempty"`
	GID     uint32 `json:"gid,omitempty"`
	Comment string `json:"comment,omitempty"`
	Home    string `json:"home,omitempty"`
	Shell   string `json:"shell,omitempty"`
	// Password is the reference to the hash of the password, sealed, where a list
	// speaks of it. Below the veil of package sealed it is the hash, of a wish alone.
	Password string `json:"password,omitempty"`
	// Lines are the account's lines of passwd, shadow, subuid and subgid,
	// which restore what no tool can be told. They may hold a password hash, and
	// have it sealed where a list speaks of the password: images are kept under
	// 0600 and never printed.
	Lines map[string]string `json:"lines,omitempty"`
	// HomeMade tells that the home directory did not exist before.
	HomeMade bool `json:"home_made,omitempty"`
	// HomeDir is the home directory, whole, that was deleted with the account.
	HomeDir *File `json:"home_dir,omitempty"`
}

// Group is a group as in group(5).
type Group struct {
	Present bool              `json:"present"`
	GID     uint32            `json:"gid,omitempty"`
	Members []string          `json:"members,omitempty"`
	Lines   map[string]string `json:"lines,omitempty"` // group and gshadow
}

// Member is membership of a user in a supplementary group.
type Member struct {
	Present bool `json:"present"`
}

// Package is what dpkg and apt know of a package.
type Package struct {
	Version string `json:"version,omitempty"` // "" when it is not installed
	// Status is dpkg's status abbreviation without the error flag, for
	// example "ii", "rc", "iU". "" means never seen.
	Status string `json:"status,omitempty"`
	Held   bool   `json:"held,omitempty"`
	Auto   bool   `json:"auto,omitempty"` // installed as a dependency only
	// Kept tells that the .deb of Version is at hand to put it back.
	Kept bool `json:"kept,omitempty"`
	// Purged demands of a package that is to be gone that its configuration and
	// data are deleted too. It is set in desired images only.
	Purged bool `json:"purged,omitempty"`
	// Also are the versions of other packages that the same transaction
	// brought, so that undo can take them away again: name to version before,
	// "" for not installed.
	Also map[string]string `json:"also,omitempty"`
	// Autos are the packages that were marked as dependencies before, sorted: of Also, and of those
	// that the transaction only marked.
	Autos []string `json:"autos,omitempty"`
}

// Unfinished tells whether dpkg has begun with the package and not come to the
// end: half installed, unpacked, half configured, with triggers to come.
func (p Package) Unfinished() bool {
	return len(p.Status) == 2 && strings.ContainsRune("HUFWt", rune(p.Status[1]))
}

// Rest tells whether a package that is gone has left its configuration behind.
func (p Package) Rest() bool {
	return p.Version == "" && len(p.Status) == 2 && p.Status[1] == 'c'
}

// purgeable tells whether p left configuration behind that desired wants deleted.
func (p Package) purgeable(desired Package) bool { return desired.Purged && p.Rest() }

// Remains is what stays on a host when a package is removed, and is deleted when
// it is purged.
type Remains struct {
	Conffiles []string `json:"conffiles,omitempty"` // that exist, sorted
	// Dirs are directories below /var and /srv, sorted, that belong to the package
	// and hold something that it did not ship.
	Dirs []string `json:"dirs,omitempty"`
	// Purges tells that a maintainer script of the package handles its purge: it
	// can delete anything.
	Purges bool `json:"purges,omitempty"`
}

// Empty tells whether a purge deletes nothing more than a removal does.
func (r Remains) Empty() bool { return len(r.Conffiles) == 0 && len(r.Dirs) == 0 && !r.Purges }

// String names what stays, "" for nothing.
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

// Stay is the verb for a sentence about what remains, and the pronoun for it.
func (r Remains) Stay() (verb, it string) {
	if len(r.Conffiles) > 0 && len(r.Dirs) > 0 {
		return "stay", "them"
	}
	return "stays", "it"
}

// some are the first names of a list that may be long.
func some(list []string) string {
	const shown = 4
	if len(list) > shown {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:shown], ", "), len(list)-shown)
	}
	return strings.Join(list, ", ")
}

// Leaving tells whether a package that is there is marked to be removed: somebody
// asked dpkg to, or a removal was cut short.
func (p Package) Leaving() bool {
	return p.Version != "" && len(p.Status) == 2 && strings.ContainsRune("rp", rune(p.Status[0]))
}

// Condition is what dpkg's status letters say, in words.
func (p Package) Condition() string {
	if len(p.Status) != 2 {
		return "not installed"
	}
	if p.Leaving() && !p.Unfinished() {
		return "marked to be removed"
	}
	return map[byte]string{
		'H': "half installed", 'U': "unpacked, not configured", 'F': "half configured",
		'W': "waiting for triggers", 't': "triggers to process", 'i': "installed",
	}[p.Status[1]]
}

// Sysctl is a kernel setting.
type Sysctl struct {
	Present bool   `json:"present"`
	Value   string `json:"value,omitempty"`
}

// Exec is whether a command has had its effect. Known is false when only the
// record of earlier runs can tell.
type Exec struct {
	Known bool `json:"known"`
	Done  bool `json:"done"`
	// NotWanted tells that it counts as done only because its only_if does not hold.
	NotWanted bool `json:"not_wanted,omitempty"`
	// Unasked is why its guards were not asked, "" where they were. What they say is
	// known when the command's turn comes.
	Unasked string `json:"unasked,omitempty"`
	// Lacks is the program of the command where the host does not have it.
	Lacks string `json:"lacks,omitempty"`
	// Output is what the command gave to later steps; it is no part of what is
	// compared.
	Output *string `json:"output,omitempty"`
}

// Known tells whether the image says anything.
func (i Image) Known() bool { return i != (Image{}) }

// Same tells whether two images are the same state. What moves by itself or
// only helps undo is left out: times, link counts, a region's line number,
// and entries.
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
		return a.Version == b.Version && a.Held == b.Held && a.Unfinished() == b.Unfinished() && a.Leaving() == b.Leaving() && !a.purgeable(b) && !b.purgeable(a)
	case i.Unit != nil && o.Unit != nil:
		return *i.Unit == *o.Unit
	case i.Sysctl != nil && o.Sysctl != nil:
		return *i.Sysctl == *o.Sysctl
	case i.Exec != nil && o.Exec != nil:
		return i.Exec.Known == o.Exec.Known && i.Exec.Done == o.Exec.Done
	}
	return !i.Known() && !o.Known()
}

// Same tells whether two paths hold the same thing, times aside.
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
