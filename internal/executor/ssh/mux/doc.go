// Package mux asks an OpenSSH that keeps a connection (ControlMaster in ssh_config(5))
// for a session in it, as ssh itself would, without starting ssh for that.
//
//	conn, err := local.DialOwn(ctx, path)
//	s, err := mux.Open(ctx, conn, mux.Request{Command: "uname -a", Env: os.Environ()})
//	io.Copy(os.Stdout, s.Out)
//	<-s.Ended
//
// The two sides exchange messages of OpenSSH's PROTOCOL.mux, version 4:
//
//	uint32 length of what follows | uint32 kind | body
//
//	to the master                       from it
//	hello         version               hello    version, pairs of texts
//	new session   id, flags, command,   opened   id, session
//	              environment           failed, denied   id, reason
//	three open files, each with a byte  ended    session, exit code
//
// The files are the session's standard streams: the master reads and writes them
// itself, and the socket has nothing more to say until it tells the exit code. Closing
// the socket ends the session. All that comes is bounded, and taken only where the
// protocol has it.
package mux
