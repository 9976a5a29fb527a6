package pki_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"io"
	"log"
	"net/netip"
	"strings"
)

// quiet discards the log of a server that must refuse clients.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

func loopback() netip.Addr { return netip.AddrFrom4([4]byte{127, 0, 0, 1}) }

func publicOf(k ed25519.PrivateKey) ed25519.PublicKey { return k.Public().(ed25519.PublicKey) }

// tokenName returns a unique name of a host.
func tokenName() string { return strings.ToLower(rand.Text()) }
