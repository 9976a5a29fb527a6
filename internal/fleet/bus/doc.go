// Package bus carries what hubs and agents say to each other, and keeps what hubs
// share. It is the only package that knows NATS, which is how hubs keep it.
//
//	srv, err := bus.Start(ctx, bus.Config{Dir: dir, Name: "hub1", Listen: ":7422", TLS: conf, Identify: identify})
//	targets, err := srv.Store(ctx, "targets")               // a fleet.Store
//	events, err := srv.Log(ctx, bus.LogConfig{Name: "events"})
//	reports := bus.NewGather(events, bus.GatherConfig{})     // a fleet.Log: one flush for many
//	x := srv.Exchange()                                     // the fleet.Exchange
//
//	l, err := bus.Dial(ctx, bus.LinkConfig{ID: id, URLs: urls, TLS: conf})   // on a target: the fleet.Link
//	answer, err := l.Ask(ctx, fleet.WordReport, body)
//
// # Subjects
//
// An agent sends below f.ID.up and hears below f.ID.down, where ID is what its certificate
// says. The hub's end of its connection adds that to what comes: see package line. So the
// subject proves who speaks, and nothing else can be named. No subject of agents leaves the
// hub that they are connected to; what one hub has for an agent of another it hands on.
//
//	f.ID.up.q.WORD        an agent asks or tells the hubs; one of them gets it
//	f.ID.up.here          it is connected, and to which server
//	f.ID.up.r.HUB.N       it answers question N of a hub
//	f.ID.up.d.HUB.SID     a frame of a stream, to the hub
//	f.ID.down.q.WORD      a hub asks or tells an agent
//	f.ID.down.s.WORD      a hub opens a stream
//	f.ID.down.d.SID       a frame of a stream, to the agent
//	f.ID.down.r.SELF.N    it answers question N of an agent
//
// A hub answers an agent only below f.ID.down.r of the ID that asked: a reply subject is what
// the agent wrote there, and a hub has rights that the agent has not.
//
// # Answers
//
// An answer is one byte, and what it is about: 0 and the body, else the number of an
// error of package fleet (see codeOf) and its text.
//
// # Streams
//
// A stream is two flows of bytes in frames. Each frame has a byte that says what it is
// and an offset from the beginning of its flow, so that one that comes twice does no
// harm and one that is lost is noticed. A sender sends what the other end granted and no
// more; so a slow reader holds up its own stream, and nothing else.
//
//	D offset bytes   data
//	G offset         all up to here may be sent
//	F offset         this was all; whoever reads further is at the end
//	R text           the stream is broken
//	P                the other end lives
package bus
