package host

// The names of mutating operations that drivers pass to an OperationHook.
const (
	OpCreate      = "create"
	OpAppend      = "append" // OpenAppend, which may create
	OpMkdir       = "mkdir"
	OpSymlink     = "symlink"
	OpLink        = "link"
	OpMknod       = "mknod"
	OpRename      = "rename"    // the path is the new one
	OpRenameNew   = "renamenew" // the path is the new one
	OpRemove      = "remove"
	OpSyncDir     = "syncdir"
	OpSyncFS      = "syncfs"
	OpChown       = "chown"
	OpChmod       = "chmod"
	OpSetXattr    = "setxattr"
	OpRemoveXattr = "removexattr"
	OpSetAttrs    = "setattrs"
	OpSetTimes    = "settimes"
	OpWrite       = "write" // each call of File.Write
	OpTruncate    = "truncate"
	OpSync        = "sync"
	OpRun         = "run" // the path is the program
)
