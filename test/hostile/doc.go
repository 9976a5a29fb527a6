// Package hostile hands fettle what an enemy would: repositories made to lead
// out of themselves or to run something, texts made to break or to starve the
// compiler, damaged journals and objects, and users of the machine who exchange
// what a path leads through while it is written.
//
//	go test ./test/hostile                  # a sample of every kind
//	FETTLE_LONG=1 go test ./test/hostile    # all of them
//
// Nothing may be written outside of the machine's root, nothing may run, and
// every refusal names a place. All inputs are generated, the same each time.
package hostile
