package hubs

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// Commit changes files of the repository, and waits until the hub has read the commit.
func (h *Hub) Commit(ctx context.Context, subject string, files map[string]string) error {
	commit, err := h.site.commit(subject, files)
	if err != nil {
		return err
	}
	if err := h.hook(ctx); err != nil {
		return err
	}
	_, err = Await(ctx, "the commit "+commit,
		func() (document.RepositoryPage, error) { return client.Get(ctx, h.Root, route.Repositories()) },
		func(p document.RepositoryPage) bool {
			return len(p.Repositories) == 1 && p.Repositories[0].Commit == commit
		})
	return err
}

// Branch changes files of the repository on a branch that the fleet does not follow, and returns the commit. The fleet
// does not notice it.
func (h *Hub) Branch(name, subject string, files map[string]string) (commit string, err error) {
	if _, err = h.site.git("-C", h.site.dir, "checkout", "-q", "-B", name); err != nil {
		return "", err
	}
	commit, err = h.site.commit(subject, files)
	_, back := h.site.git("-C", h.site.dir, "checkout", "-q", "main")
	return commit, errors.Join(err, back)
}

// hook is the webhook of a git server: the hub polls the repository at once.
func (h *Hub) hook(ctx context.Context) error {
	secret, err := os.ReadFile(filepath.Join(h.hubDir(), "hook-secret"))
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://hub/v1/hook/site", nil)
	if err != nil {
		return err
	}
	r.Header.Set("X-Gitlab-Token", strings.TrimSpace(string(secret)))
	t := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", h.socket())
	}}
	answer, err := (&http.Client{Transport: t}).Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusNoContent {
		return fmt.Errorf("the hook of the hub returns %s", answer.Status)
	}
	return nil
}
