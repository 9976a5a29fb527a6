// Package ssh reaches executors over OpenSSH: it starts the user's own ssh, brings
// this program to the target if it is not there yet, starts it, and speaks the
// protocol of package wire over its standard streams.
//
//	s, err := ssh.Open(ctx, ssh.Address{Host: "web1", Sudo: true}, ssh.Options{Programs: programs})
//	defer s.Close()
//	p, err := s.Plan(ctx, request)
//
// Because it is OpenSSH that connects, everything in ssh_config holds: Match,
// ProxyJump, certificates, agents, hardware keys. What this package sets itself is in
// Options and never weakens the check of host keys. A connection that OpenSSH keeps is
// used again by package mux, without starting ssh.
//
// All that is asked of the target's shell is one line that starts sh with a short
// script (start.sh), which verifies the program and starts it, or goes on with a longer
// one (boot.sh) until the program has come. That needs a POSIX shell, find and sha256sum,
// and base64, head and gzip for the first contact.
package ssh
