// Package ssh reaches executors over OpenSSH. It starts the user's own ssh, uploads the
// binary to the target if it is missing there, and starts it. Then it uses the protocol
// of package wire over the standard streams.
//
//	s, err := ssh.Open(ctx, ssh.Address{Host: "web1", Sudo: true}, ssh.Options{Programs: programs})
//	defer s.Close()
//	p, err := s.Plan(ctx, request)
//
// Because OpenSSH connects, everything in ssh_config applies: Match, ProxyJump,
// certificates, agents, hardware keys. The settings of this package are in Options and
// never weaken the check of host keys. Package mux reuses connections that OpenSSH keeps,
// without starting ssh.
//
// The target's shell receives one line, which starts sh with a short script (start.sh).
// The script verifies the binary and starts it. If the binary is missing, a longer script
// (boot.sh) receives it first. That needs a POSIX shell, find and sha256sum, and base64,
// head and gzip for the first contact.
package ssh
