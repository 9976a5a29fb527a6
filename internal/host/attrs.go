package host

// Inode attributes that stop every change of an inode (linux/fs.h).
const (
	AttrImmutable = 0x10 // chattr +i
	AttrAppend    = 0x20 // chattr +a
)
