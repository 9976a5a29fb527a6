// Package wire carries an executor over any stream of bytes: the standard streams of a
// process that OpenSSH started, a pipe in a test, a connection of an agent. Serve serves
// any executor.Executor. Dial returns an executor too, so that callers need no special
// case.
//
//	go wire.Serve(ctx, far, wire.Served{Open: open, …})  // on the target
//	x, err := wire.Dial(ctx, near, wire.Options{})       // here
//	p, err := x.Plan(ctx, request)
//
// # Protocol
//
// The served end sends "fettle-wire 1\n" and describes itself in the first frame (Hello).
// From then on both ends send frames:
//
//	type    1 byte    call, result, fault, event, data, grant, cancel, ping, pong
//	flags   1 byte    1: the payload is deflated; 2: more of the message follows
//	stream  4 bytes   of the call; odd numbers begin here, even ones on the target
//	length  4 bytes   of the payload as sent, at most 256 KiB
//	payload
//
// Calls and results are JSON. Content is data, in windows that the reader grants, so that
// a slow disk blocks only its own stream. Received data is never executed, and only
// decoded into the structures of this package. The target runs only the binary that is
// already there. Each frame is compressed separately. A frame that exceeds its maximum
// size ends the connection.
//
// The target requests only missing data: the list, if a different one is applied, and
// content that is neither in its store nor in an earlier answer. All content is on the
// target before a run changes anything, so that a run continues without the other end.
package wire
