// Package powercut cuts the power of a machine at any write to its disk.
//
// A disk is one file in memory, served over FUSE by a process of its own, which
// logs every write and every flush. A loop device lies on it, a real file system
// on that, and the real program works there. For a cut at any place of the log,
// Image makes what a disk may then hold: all that was flushed, and of the later
// writes none, some or all.
//
//	disk, err := NewDisk(dir, 64<<20)
//	…                                        // mkfs, mount, work, unmount
//	ops, _, err := disk.Log()
//	image, err := NewImage(64<<20, nil, ops)
//	file, err := image.Cut(at, Half, seed)   // a disk to mount
//
// Main runs the tests in namespaces of their own: whatever happens to them, the
// kernel takes their mounts, loop devices and processes away.
package powercut
