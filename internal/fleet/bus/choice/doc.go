// Package choice chooses the hub to which an agent connects.
//
//	var c choice.Choice
//	c.Note(address, latency, time.Now())         // the time of a TCP handshake with a hub
//	address := c.Next(addresses, time.Now())     // a random near hub, but not the one of the last attempt
//	moves := c.Order(targets, addresses, false, time.Now())
//
// A near hub has a latency similar to the smallest one. Agents choose among near hubs at random, so that they
// spread evenly. A hub with too many agents orders some of them to move to other near hubs. If no near hub answers, an
// agent uses any other hub, and returns when a near hub answers again.
//
// Measurements are only estimates: a wrong one costs latency, not correctness. A latency counts for an hour. A hub that
// did not answer counts as far for a minute, and is then measured again.
package choice
