package pki_test

import (
	"io"
	"log"
	"net/netip"
)

// quiet is the log of a server that is meant to refuse people.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

func loopback() netip.Addr { return netip.AddrFrom4([4]byte{127, 0, 0, 1}) }
