// Package agentconn is the connection of one agent to one hub. It sends messages with subjects over
// an existing TLS connection.
//
//	d := agentconn.NewServer(agentconn.Config{Identify: identify, Admit: x.Admit, OnDisconnect: x.Gone})   // at a hub
//	go d.Serve(tls.NewListener(l, conf))
//	err := d.Send("f."+id+".down.q.do", "", body)
//
//	c, err := agentconn.Join(conn, id, agentconn.Watch{Every: 30 * time.Second})                  // at an agent
//	err = c.Receive("f."+id+".down.>", "", func(m agentconn.Message) { … })
//
// A hub has tens of thousands of agent connections, and nearly all are idle. An idle connection is
// an entry in an epoll(7) set and the state of TLS. It has no goroutine and no buffer.
//
// # On the wire
//
// Both ends send frames: the length of the rest as four bytes, most significant first, one byte for
// the type, and the content.
//
//	H number name            the first frame, from the hub: the number of the connection, and the name of the hub
//	M subject reply body     a message
//	N subject                the request whose answer would arrive at this subject has no receiver
//	P                        ping
//	O                        pong
//	X [oldest newest]        the hub refuses this agent; the numbers are the protocol versions of
//	                         the hub, and are present if they are the reason
//
// The two ends agree on a protocol version in the TLS handshake, by ALPN: fettle/2 and so on. An
// end that offers none uses version 1. The length, the type, and the frame X are the same in all
// versions.
//
// A number is a varint. A text is its length as a varint, and its bytes. Subjects contain no
// identity: the subject of an agent's message is relative to f.ID.up. The subject of a message
// to an agent is relative to f.ID.down, where ID is the target in the agent's certificate. For
// reply subjects it is the reverse. An agent therefore cannot name a subject of another target, and
// the hub need not check subjects.
package agentconn
