// Package stream has the parts of which the protocols between processes of fettle consist: frames,
// flow control, and detection of a silent end. It opens no connection and starts no program.
//
//	frames := stream.Format{Head: 5, Length: 1, Most: 64 << 20, Malformed: errNonsense}
//	err := frames.Write(w, []byte{'Q', 0, 0, 0, 0}, question)   // one end
//	question, err := frames.Read(r, head[:], 0)                 // the other end
//
//	s := stream.Over(stream.Messages{Send: send})               // a stream of bytes over messages
//	s.Receive(frame)                                            // for each frame of the other end
//
// A protocol uses only the parts that its carrier lacks:
//
//	carrier                        Format   Credit, Buffer   Keepalive
//	pipe to a process              yes      no               no: the process ends
//	calls over one connection      yes      for each call    yes
//	stream over messages           no       yes              yes
//	connection of an agent         yes      no: a limit      has its own: thousands share one timer
//
// Received lengths are checked before memory is allocated, and memory grows only with the bytes that
// arrived. All types are safe for concurrent use, except for those whose comment says otherwise.
package stream
