// Package powercut cuts the power of a machine at any write to its disk.
//
// A disk is one file in memory. A separate process serves it over FUSE, and logs every write and every
// flush. A loop device with a real file system uses this file, and the real binary works on it. For a
// cut at any position of the log, Image creates a possible content of the disk: all flushed writes,
// and none, some or all of the later writes.
//
//	disk, err := NewDisk(dir, 64<<20)
//	…                                        // mkfs, mount, work, unmount
//	ops, _, err := disk.Log()
//	image, err := NewImage(64<<20, nil, ops)
//	file, err := image.Cut(at, Half, seed)   // a disk to mount
//
// Main runs the tests in their own namespaces, so that the kernel always removes their mounts, loop
// devices and processes.
package powercut
