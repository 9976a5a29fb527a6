package image

import "math"

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

// epoch is the MTime of the exact beginning of 1970, which reproducible builds use.
const epoch = math.MinInt64

// MTimeOf converts nanoseconds since 1970 to the form of MTime.
func MTimeOf(ns int64) int64 {
	if ns == 0 {
		return epoch
	}
	return ns
}
