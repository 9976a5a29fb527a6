package main

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"time"
)

// The far hosts.
const (
	farHosts = 5
	halfTrip = 40 * time.Millisecond
	// A lost chunk comes after the time-out for sending it again, 200 ms at least in
	// Linux, and one more half of the round trip. What is behind it waits.
	resend = 200*time.Millisecond + halfTrip
	lost   = 0.05
)

// relay is a long wire to one host.
type relay struct {
	to    string
	dice  *rand.Rand // of one goroutine, which accepts
	turns atomic.Int64
}

// startRelays puts a relay before each host, which runs until the benchmark ends.
func startRelays(hosts []*host) ([]*relay, error) {
	var all []*relay
	for i, h := range hosts {
		l, err := net.Listen("tcp", addressOf(2, i)+":22")
		if err != nil {
			return nil, err
		}
		r := &relay{to: h.address + ":22", dice: rand.New(rand.NewPCG(1, uint64(i)))}
		all = append(all, r)
		go r.serve(l)
	}
	return all, nil
}

func (r *relay) serve(l net.Listener) {
	for {
		near, err := l.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", r.to)
		if err != nil {
			_ = near.Close()
			continue
		}
		var last atomic.Int32 // which side spoke last, to count turns
		go r.carry(near, far, 1, &last, rand.New(rand.NewPCG(r.dice.Uint64(), 0)))
		go r.carry(far, near, 2, &last, rand.New(rand.NewPCG(r.dice.Uint64(), 1)))
	}
}

// chunk is what was read at once, and when it comes out at the other end.
type chunk struct {
	bytes []byte
	due   time.Time
}

// carry moves what one side says to the other, each chunk not before its time. The
// first one of a connection waits a round trip more, for that of TCP itself.
func (r *relay) carry(from, to net.Conn, side int32, last *atomic.Int32, dice *rand.Rand) {
	wire := make(chan chunk, 4096)
	go func() {
		defer close(wire)
		due := time.Now().Add(2 * halfTrip)
		for {
			b := make([]byte, 16<<10)
			n, err := from.Read(b)
			if n > 0 {
				if last.Swap(side) != side && side == 1 {
					r.turns.Add(1)
				}
				due = arrival(due, time.Now(), dice.Float64() < lost)
				wire <- chunk{b[:n], due}
			}
			if err != nil {
				return
			}
		}
	}()
	for c := range wire {
		time.Sleep(time.Until(c.due))
		if _, err := to.Write(c.bytes); err != nil {
			_ = from.Close()
		}
	}
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = errors.Join(half.CloseWrite())
	}
	_, _ = io.Copy(io.Discard, from)
}

// arrival is when a chunk that is sent now comes, which is not before the one ahead.
func arrival(ahead, now time.Time, again bool) time.Time {
	due := now.Add(halfTrip)
	if again {
		due = due.Add(resend)
	}
	if due.Before(ahead) {
		return ahead
	}
	return due
}

// answers tells whether somebody listens at an address.
func answers(address string) bool {
	c, err := net.DialTimeout("tcp", address+":22", time.Second)
	if err != nil {
		return false
	}
	_ = c.Close()
	return true
}
