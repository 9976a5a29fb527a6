package hubs

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"time"
)

// patience is the time limit of a condition that a test waits for.
const patience = time.Minute

// freePort returns an address on the loopback interface with an unused port. The kernel gives
// outgoing connections higher ports, so the port stays unused.
func freePort() string {
	for {
		at := net.JoinHostPort("127.0.0.1", strconv.Itoa(10000+rand.IntN(22000)))
		l, err := net.Listen("tcp", at)
		if err != nil {
			continue
		}
		_ = l.Close()
		return at
	}
}

// mostPause is the longest pause between two queries of Await. A query can be a command in a process of its own.
const mostPause = 80 * time.Millisecond

// Await repeats a query until done accepts its result. The error contains the last result.
func Await[T any](ctx context.Context, what string, get func() (T, error), done func(T) bool) (T, error) {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, mostPause) {
		v, err := get()
		if err == nil && done(v) {
			return v, nil
		}
		select {
		case <-ctx.Done():
			return v, fmt.Errorf("%s: %w; the last result is %+v, %v", what, ctx.Err(), v, err)
		case <-time.After(pause):
		}
	}
}
