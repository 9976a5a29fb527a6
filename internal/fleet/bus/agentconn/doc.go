// Package agentconn is the connection of one agent to one hub. It carries messages with subjects over
// an existing TLS connection.
//
//	d := agentconn.NewServer(agentconn.Config{Identify: identify, Admit: x.Admit, Gone: x.Gone})   // at a hub
//	go d.Serve(tls.NewListener(l, conf))
//	err := d.Send("f."+id+".down.q.do", "", body)
//
//	c, err := agentconn.Join(conn, id, agentconn.Watch{Every: 30 * time.Second})                  // at an agent
//	err = c.Receive("f."+id+".down.>", "", func(m agentconn.Message) { … })
//
// A hub has tens of thousands of them, nearly all of which rest. One that rests is a line in an
// epoll(7) and what TLS keeps: there is no goroutine, and nothing is buffered for it.
//
// # On the wire
//
// Both ends send frames: the length of what follows as four bytes, most significant
// first, one byte that says what it is, and the rest.
//
//	H number name            the hub, first of all: the number of the connection, and its own name
//	M subject reply body     a message
//	N subject                nobody hears the subject of the question whose answer comes here
//	P                        is the other end there?
//	O                        it is
//	X [oldest newest]        the hub does not let this agent in; the numbers are the protocol
//	                         versions of the hub, and are there if they are the reason
//
// The two ends agree on a version of the protocol while TLS begins, by ALPN: fettle/2 and so
// on. An end that names none speaks version 1. The length, the kind, and the frame X are the
// same in all versions.
//
// A number is a varint, a text is its length as a varint and its bytes. Subjects have no
// identity in them: what an agent sends is below f.ID.up, and what it hears below
// f.ID.down, where ID is what its certificate said when it connected; where an answer goes
// it is the other way round. So nobody can name what is another's, and there is nothing to
// check.
package agentconn
