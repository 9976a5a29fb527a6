// Package bustest has the stores, the log and the links of package bus in memory, with
// faults on demand, and the suite that they and the real ones pass.
//
//	func TestMain(m *testing.M) { bustest.OutsideOfBubbles(); os.Exit(m.Run()) }
//
//	n := bustest.NewNet(ctx, bustest.Faults{})
//	x, l := n.Exchange(), n.Link(ctx, id)     // a fleet.Exchange, a fleet.Link
//	n.Cut(id)                                 // its connection is lost; it makes another one
//	n.Partition(id, true)                     // and cannot
//	s, events := bustest.NewStore(), bustest.NewLog()
//	srv := bustest.Embedded(t)                // the real bus, within the process
//
// Everything here can be used under testing/synctest. The links and the exchange in
// memory are those of package bus over another Carrier.
package bustest
