// Package fidelity verifies that an undo restores the exact state before. It creates random trees with
// all types of objects in a file system of Debian, applies random lists to them, undoes these, and
// compares the trees. The comparison shares no code with the engine.
//
//	go test ./test/fidelity
//	FETTLE_LONG=1 go test -timeout 60m ./test/fidelity
//	FETTLE_TREE=ext4/4711 go test ./test/fidelity    one tree, with its lists
//
// It compares everything except the inevitable effects of writing: the times of access and change, the
// birth time and the number of an inode. It also ignores the modification time of a directory in which
// a list created or removed an entry, and of a file in which EDIT restored its region. A removed hard
// link is restored as a separate file, so each list contains all names of a file or none. Written
// zeros may be restored as a hole.
//
// It needs root, for owners, devices and mounts.
package fidelity
