package step

// Type is the required form of an attribute's value.
type Type uint8

const (
	// Text is any string without NUL.
	Text Type = iota
	// Bool is true or false.
	Bool
	// Mode is 3 or 4 octal digits, printed as 4.
	Mode
	// Int is a decimal number.
	Int
	// Seconds is a duration such as 30s; see package duration.
	Seconds
	// AbsPath is a clean absolute path.
	AbsPath
	// Address is an addr.Addr.
	Address
	// Pattern is an RE2 regular expression.
	Pattern
	// Words is a command line of words: blanks separate, quotes and
	// backslashes protect, nothing is expanded. See SplitWords.
	Words
	// Present is present or absent.
	Present
	// Purgeable is present, absent or purged.
	Purgeable
	// Account is a user or group, by name or number.
	Account
	// UnitName is the name of a systemd unit.
	UnitName
	// Version is a version of a Debian package.
	Version
	// Assignment is NAME=VALUE.
	Assignment
	// URL is an absolute http or https URL.
	URL
	// HostPort is host:port.
	HostPort

	// The rest are the types of subjects only.

	accountName // a user or group that can be made: no number
	packageName // a Debian package, perhaps with :architecture
	sysctlKey   // a kernel setting
	action      // an action of ACT
	label       // any name that is not empty
	blobSource  // a digest, or a path relative to the list's directory
)

// Key is one attribute that a verb takes.
type Key struct {
	Name string
	Type Type
	List bool   // can be repeated
	Doc  string // one sentence, for `fettle docs` and completion
}

// Schema is the shape of a verb's line.
type Schema struct {
	Verb Verb
	// Args names the subjects. The last may end in "..." : one or more.
	Args []string
	Keys []Key
	Doc  string
}
