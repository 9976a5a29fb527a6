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

// Binary fetches a program's file for an architecture, if it may be run: where commits
// have to be signed, it has to be too, and it is not older than the version that runs. The
// caller closes the file.
func (m *Member) Binary(ctx context.Context, p fleet.Binary, arch, runs string) (host.File, error) {
	b, ok := p.Files[arch]
	if !ok {
		return nil, fmt.Errorf("%w: the program %s has no file for %s", agent.ErrNever, p.Version, arch)
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
			return nil, fmt.Errorf("%w: %s is older than %s, and where signatures are asked for, programs only become newer", agent.ErrNever, p.Version, runs)
		}
	}
	conf, err := m.tls()
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{TLSClientConfig: conf, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	f := &content.Fetcher{Store: m.store, Bases: func() []string { return m.who().Hubs }, Transport: transport}
	if err := f.Fetch(ctx, b); err != nil {
		return nil, err
	}
	return m.store.Open(b)
}

// Forget removes a program's file from the store of content: it was installed, or never
// will be.
func (m *Member) Forget(b fleet.Bundle) error { return m.store.Remove(b) }
