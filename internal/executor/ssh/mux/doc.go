// Package mux opens a session in a connection that OpenSSH keeps (ControlMaster in
// ssh_config(5)). It does so as ssh itself would, but without starting ssh.
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
// directly. After that, the socket carries only the exit code. Closing the socket ends
// the session. All received data is bounded, and accepted only where the protocol allows
// it.
package mux
