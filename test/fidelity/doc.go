// Package fidelity shows that undoing means: as it was. It makes random trees
// with everything that a file system of Debian can hold, puts random lists on
// them, takes those back, and compares with eyes of its own, which share no code
// with the engine.
//
//	go test ./test/fidelity
//	FETTLE_LONG=1 go test -timeout 60m ./test/fidelity
//	FETTLE_TREE=ext4/4711 go test ./test/fidelity    one tree, with its lists
//
// Compared is everything but what follows from having been written at all: the
// times of access and of change, the birth and the number of an inode, and the
// modification times of a directory in which a list made or removed an entry, and
// of a file in which EDIT gave its region back. What is removed and has names
// elsewhere comes back as a file of its own, so lists here take all the names of a
// file or none. Zeros that were written out may come back as a hole.
//
// It needs root, for owners, devices and mounts.
package fidelity
