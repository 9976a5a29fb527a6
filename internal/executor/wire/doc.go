// Package wire carries an executor over any stream of bytes: the standard streams
// of a process that OpenSSH started, a pipe in a test, a connection of an agent.
// What is at the far end is any executor.Executor; what Dial gives is one too, so
// that nothing above knows the difference.
//
//	go wire.Serve(ctx, far, wire.Served{Open: open, …})  // on the target
//	x, err := wire.Dial(ctx, near, wire.Options{})       // here
//	p, err := x.Plan(ctx, request)
//
// # Protocol
//
// The served end says "fettle-wire 1\n" and, in the first frame, what it is (Hello).
// From then on both ends send frames:
//
//	type    1 byte    call, result, fault, event, data, grant, cancel, ping, pong
//	flags   1 byte    1: the payload is deflated; 2: more of the message follows
//	stream  4 bytes   of the call; odd numbers begin here, even ones on the target
//	length  4 bytes   of the payload as sent, at most 256 KiB
//	payload
//
// Calls and what they give are JSON; content is data, in windows that the reader
// grants, so that a slow disk holds up its own stream alone. Nothing that is sent is
// ever run or decoded into anything but the structures of this package: the only
// program is the one that is there. Compression is for each frame by itself, and a
// frame that claims to be larger than its bound ends the connection.
//
// The target asks back for what it lacks and only for that: the list, if it has
// another one applied, and content that neither its store nor an earlier answer has.
// All content is on the target before a run changes anything, so that a run needs
// nobody at the other end any more.
package wire
