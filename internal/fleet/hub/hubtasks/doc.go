// Package hubtasks does tasks of scopes on a hub, in another process of another user.
//
//	p := hubtasks.Preparer{Tree: leader.Tree, Scopes: compile, Content: store, Signers: readSigners, …}
//	w, err := p.Prepare(ctx, revision, attempt)           // verified content, with decrypted secrets
//	c := hubtasks.Client{Dial: dial}
//	outcome, text := c.Do(ctx, w)
//
//	s := hubtasks.Server{Run: host.Run, Test: test}       // in the process of the other user
//	s.Serve(ctx, connection)
//
// # Why another process
//
// A command of a repository must not read the keys of the hub. It also must not use the socket at which the hub
// accepts commands of an admin. Both belong to the user of the hub. A hub has no rights to start a process of another
// user, so root starts one, and this start is the permission for tasks.
//
// # Protocol
//
// The socket accepts only root and the user of the hub. One connection is one attempt: the client sends one line of
// JSON, a request, and reads one line, a reply. If the client closes the connection before the reply, the server kills
// the command. A client without a reply does not know the result. An empty request asks only whether the server is
// there, and a request with only a condition tests it once. The server never repeats a request.
package hubtasks
