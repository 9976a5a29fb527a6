package member

import (
	"context"
	"fmt"
	"net/http"

	"fettle.dev/fettle/internal/debver"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/host"
)

// Binary fetches the binary for an architecture and checks that it may run: on a host that requires
// signatures it must be signed, and not older than the running version, runs. The caller must close
// the file.
func (m *Member) Binary(ctx context.Context, p fleet.Binary, arch, runs string) (host.File, error) {
	b, ok := p.Files[arch]
	if !ok {
		return nil, fmt.Errorf("%w: version %s of the agent has no binary for %s", agent.ErrNever, p.Version, arch)
	}
	signers, err := m.signers()
	if err != nil {
		return nil, err
	}
	if signers != nil {
		if _, err := content.VerifyBinary(p, content.Trust{Signers: *signers, Now: m.cfg.Now().Unix()}); err != nil {
			return nil, fmt.Errorf("%w: %w", agent.ErrNever, err)
		}
		if debver.Compare(p.Version, runs) < 0 {
			return nil, fmt.Errorf(
				"%w: version %s is older than %s; a host that requires signatures accepts only newer versions", agent.ErrNever,
				p.Version, runs)
		}
	}
	conf, err := m.tls()
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{TLSClientConfig: conf, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	f := &content.Fetcher{Store: m.store, Bases: func() []string { return m.who().HubURLs }, Transport: transport}
	if err := f.Fetch(ctx, b); err != nil {
		return nil, err
	}
	return m.store.Open(b)
}

// Forget removes a binary from the content store, because it is installed or was rejected.
func (m *Member) Forget(b fleet.Bundle) error { return m.store.Remove(b) }
