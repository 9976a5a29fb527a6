// Package lock starts two instances of the real binary, interrupts them, removes their terminal,
// reader or memory, and kills them. It checks each time that only one holds the lock, that whole
// process trees end, and that no state is partly written.
//
//	go test ./test/lock
//
// The host is a directory. The binary is built with the tag fettlefault, with which it stops before a
// chosen mutating operation. Tests that run commands use the root of this host, and change only a
// directory of their own; they need root for privileged operations.
package lock
