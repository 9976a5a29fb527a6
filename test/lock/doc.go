// Package lock starts the real program twice at once, interrupts it, takes its
// terminal, its reader, its memory and its life away, and looks each time
// whether one lock holds, whole process trees end, and nothing is torn.
//
//	go test ./test/lock
//
// The machine is a directory. The program is built with the tag fettlefault, which
// lets it stop by itself just before one of its mutating operations. What runs
// commands works on the root of this machine, and changes nothing there but in
// a directory of its own; it needs root for what only root may.
package lock
