package member

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent"
	"fettle.dev/fettle/internal/fleet/content"
)

// historyStall is the time without data after which the agent gives up on a hub. A hub reports
// within 20 seconds that a history is not ready.
const historyStall = 40 * time.Second

// errLater is in the chain of an error after which the same hub can deliver the history later.
var errLater = errors.New("try again")

// descent returns the requirements of this host. Without allowed_signers they would have no effect,
// which is an error.
func (m *Member) descent(signers *content.Signers) (d content.Descent, err error) {
	if m.cfg.Descent == nil {
		return d, nil
	}
	d, err = m.cfg.Descent()
	switch {
	case err != nil && signers == nil:
		return content.Descent{}, nil // nothing is verified on this host; commands are refused
	case err != nil:
		return d, fmt.Errorf("cannot determine which commits this host accepts: %w", err)
	case d.Required() && signers == nil:
		return d, fmt.Errorf("cannot check the history of commits: %s requires signatures, and this host has no file /etc/fettle/allowed_signers. Write the keys of the signers into it, or remove the settings", agent.ConfFile)
	}
	return d, nil
}

// lineage is a part whose history must be verified.
type lineage struct {
	content.Lineage
	claim content.Claim
	trust content.Trust
}

// permits reports whether a permit replaces the history.
func (l lineage) permits() bool {
	if l.claim.Permit == "" {
		return false
	}
	_, err := content.PermittedBy(l.claim, l.trust)
	return err == nil
}

// verifyHistory gets the history of a part from the hubs in turn, until one delivers an acceptable
// one.
func (m *Member) verifyHistory(ctx context.Context, rt http.RoundTripper, l lineage, d content.Descent) error {
	wrong, later := error(nil), true
	if len(m.who().HubURLs) == 0 {
		wrong = fleet.ErrNoHub
	}
	for _, base := range m.who().HubURLs {
		h, err := getHistory(ctx, rt, base, l.Lineage)
		if err == nil {
			if err = content.VerifyHistory(h, l.Lineage, d, l.trust); err == nil {
				return nil
			}
			err = fmt.Errorf("%w. %s", err, advice(l))
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		later = later && errors.Is(err, errLater)
		wrong = errors.Join(wrong, fmt.Errorf("%s: %w", base, err))
	}
	what := fmt.Errorf("cannot accept the commit %.12s of %s: %w", l.Commit, orTop(l.claim.Part), wrong)
	if later {
		return what
	}
	return fmt.Errorf("%w: %w", agent.ErrNever, what)
}

// advice is the next step after a history that is not acceptable.
func advice(l lineage) string {
	return fmt.Sprintf(
		"Review all changes since %.12s. To accept the commit on this host anyway, run: fettle target pin %s --branch %.12s --permit",
		l.Accepted()[0], l.claim.Target, l.Commit)
}

// getHistory gets a history from one hub.
func getHistory(ctx context.Context, rt http.RoundTripper, base string,
	l content.Lineage) (h content.History, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(historyStall, func() { cancel(errors.New("the hub sent no data for 40s")) })
	defer watch.Stop()
	query := url.Values{content.HistoryAccepted: l.Accepted()}
	at := strings.TrimSuffix(base, "/") + content.HistoryPath + l.Commit + "?" + query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return h, err
	}
	resp, err := rt.RoundTrip(req) // no redirect is followed
	if err == nil {
		defer func() { _ = resp.Body.Close() }()
		h, err = readHistory(resp, l.Commit, func() { watch.Reset(historyStall) })
	} else {
		err = fmt.Errorf("%w: %w", errLater, err)
	}
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return h, fmt.Errorf("%w: %w", errLater, cause)
	}
	return h, err
}

// readHistory reads the answer of a hub.
func readHistory(resp *http.Response, commit string, alive func()) (h content.History, err error) {
	if resp.Header.Get(content.HistoryHeader) == "" {
		return h, fmt.Errorf("this hub cannot deliver the history of commits, because its version of fettle is older than the version of this agent. Upgrade the hub, or remove the settings about commits from /%s", agent.ConfFile)
	}
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 300))
		err = fmt.Errorf("the hub does not deliver the history: %.300q", strings.TrimSpace(string(text)))
		if resp.StatusCode != http.StatusUnprocessableEntity { // for example, this hub has a newer assignment
			err = fmt.Errorf("%w: %w", errLater, err)
		}
		return h, err
	}
	h, err = content.ReadHistory(&reviving{resp.Body, alive}, commit)
	if errors.Is(err, content.ErrTruncated) {
		err = fmt.Errorf("%w: %w", errLater, err)
	}
	return h, err
}

// reviving calls alive after each read with data.
type reviving struct {
	io.Reader
	alive func()
}

func (r *reviving) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	if n > 0 {
		r.alive()
	}
	return n, err
}

// claimOf uses the name with which the host enrolled: a hub could write another name into an assignment,
// so that a permit for that name counts here.
func claimOf(name string, a fleet.Assignment, as fleet.Assigned) content.Claim {
	return content.Claim{Repository: as.Revision.Repository, Commit: as.Revision.Commit, Part: as.Module,
		Permit: as.Permit, Target: name, Labels: a.Labels}
}
