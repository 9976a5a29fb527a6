// Package bus connects hubs and agents, and stores the data that hubs share. It is the only package
// that uses NATS; the hubs store their data with it.
//
//	srv, err := bus.Start(ctx, bus.Config{Dir: dir, Name: "hub1", Listen: ":7422", TLS: conf, Identify: identify})
//	targets, err := srv.Store(ctx, "targets")               // a fleet.Store
//	events, err := srv.Log(ctx, bus.LogConfig{Name: "events"})
//	reports := bus.NewGather(events, bus.GatherConfig{})     // a fleet.Log: one flush for many
//	x := srv.Exchange()                                     // the fleet.Exchange
//
//	l, err := bus.Dial(ctx, bus.LinkConfig{ID: id, URLs: urls, TLS: conf})   // on a target: the fleet.Link
//	answer, err := l.Ask(ctx, fleet.MessageReport, body)
//
// # Subjects
//
// An agent sends below f.ID.up and receives below f.ID.down, where ID is the target in its
// certificate. The hub's end of the connection adds this prefix to each subject: see package
// agentconn. The subject therefore proves the sender, and an agent cannot use other subjects.
// Subjects of agents stay on the hub that they are connected to. For an agent of another hub, a hub
// forwards the message to that hub.
//
//	f.ID.up.q.WORD        a request or notification of an agent; one hub receives it
//	f.ID.up.here          the agent is connected, and to which server
//	f.ID.up.r.HUB.N       the agent's answer to request N of a hub
//	f.ID.up.d.HUB.SID     a frame of a stream, to the hub
//	f.ID.down.q.WORD      a request or notification of a hub
//	f.ID.down.s.WORD      a hub opens a stream
//	f.ID.down.d.SID       a frame of a stream, to the agent
//	f.ID.down.r.SELF.N    the hub's answer to request N of an agent
//
// A hub answers an agent only below f.ID.down.r of the ID that sent the request. The agent chooses
// the reply subject of its request, and a hub has rights that the agent does not have.
//
// # Answers
//
// An answer is 0 and the body, or the number of an error of package fleet (see codeOf) and its
// text.
//
// # Streams
//
// A stream of bytes is two flows of frames: see stream.Stream. Each frame is one message.
package bus
