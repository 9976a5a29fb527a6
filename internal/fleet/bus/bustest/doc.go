// Package bustest implements the stores, the log and the links of package bus in memory, with faults
// on demand. It has a test suite that these implementations and the real ones pass.
//
//	func TestMain(m *testing.M) { bustest.OutsideOfBubbles(); os.Exit(m.Run()) }
//
//	n := bustest.NewNet(ctx, bustest.Faults{})
//	x, l := n.Exchange(), n.Link(ctx, id)     // a fleet.Exchange, a fleet.Link
//	n.Cut(id)                                 // the connection is lost; the link makes another one
//	n.Partition(id, true)                     // and cannot
//	s, events := bustest.NewStore(), bustest.NewLog()
//	srv := bustest.Embedded(t)                // the real bus, within the process
//
// Everything here can be used under testing/synctest. The links and the exchange in memory are the
// implementations of package bus over another Carrier.
package bustest
