package image

import "fettle.dev/fettle/internal/addr"

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

// User returns the state of an account, or nil if the image has another type.
func (i Image) User() *User { return as[User](i.Variant) }

func (*User) stored() string { return "user" }

func (*User) kind() addr.Kind { return addr.KindUser }

func (*User) fresh() Variant { return new(User) }

// Same implements Variant. It ignores the lines of the account and its home directory.
func (u User) Same(other Variant) bool {
	o := as[User](other)
	return o != nil && u.Present == o.Present && u.UID == o.UID && u.GID == o.GID &&
		u.Comment == o.Comment && u.Home == o.Home && u.Shell == o.Shell && u.Password == o.Password
}

// Absent implements Variant.
func (u User) Absent() bool { return !u.Present }

// SealKey implements Variant.
func (u User) SealKey() string { return keyIn(u.Password) }

// Summary implements Variant.
func (u User) Summary() string { return presence(u.Present) }

// exact implements captured.
func (u User) exact() bool { return len(u.Lines) > 0 }

// Differences implements Variant.
func (u User) Differences(before Variant, n Names) []Difference {
	old := valueOf[User](before)
	var d differ
	d.add("present", yes(old.Present), yes(u.Present))
	if !u.Present {
		return d.out
	}
	if old.Present {
		d.add("uid", number(old.UID), number(u.UID))
		d.add("group", n.GroupName(old.GID), n.GroupName(u.GID))
	}
	d.add("home", old.Home, u.Home)
	d.add("shell", old.Shell, u.Shell)
	d.add("comment", old.Comment, u.Comment)
	d.add("password", shown(old.Password), shown(u.Password))
	return d.out
}
