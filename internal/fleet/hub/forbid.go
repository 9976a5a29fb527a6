package hub

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/pki"
)

// barredName is a name for which a target had a certificate that was forbidden: another one
// waits for somebody, whatever the policy says.
type barredName struct {
	Name   string `json:"name"`
	By     string `json:"by"`
	At     int64  `json:"at"` // seconds since 1970
	Reason string `json:"reason,omitempty"`
}

// maxBarred bounds those of one target.
const maxBarred = 256

// barred tells why another certificate of these names waits, "" where it does not.
func (s served) barred(names []string) string {
	for _, b := range s.Barred {
		if slices.Contains(names, b.Name) {
			return fmt.Sprintf("a certificate of %s was forbidden by %s: %s", b.Name, b.By, b.Reason)
		}
	}
	return ""
}

// ForbidCertificates has nobody believe certificates any more: by serial, or all of a target,
// or those of a target that have a name.
func (h *Hub) ForbidCertificates(ctx context.Context, by access.Who, r document.CertificateForbidding) (document.Request, error) {
	if (r.Serial == "") == (r.Target == "") || r.Serial != "" && r.Name != "" {
		return document.Request{}, &api.Refusal{Status: http.StatusBadRequest, Why: "cannot tell which certificates are meant: it is one of a serial and a target, which may have a name", Hint: "See: fettle certificate forbid --help"}
	}
	means := func(s served, c issuedToTarget) bool {
		t, _, _ := h.targets.get(string(s.Target))
		ofTarget := r.Target == string(s.Target) || r.Target == t.Name && t.Name != ""
		return c.Serial == r.Serial || ofTarget && (r.Name == "" || slices.Contains(c.Names, r.Name))
	}
	done, err := h.forbid(ctx, by, r.Reason, means)
	if err == nil && done.ID == "" {
		return done, &api.Refusal{Status: http.StatusNotFound, Why: "cannot find a certificate that is meant, has not ended and is not forbidden", Hint: "Look at: fettle certificate list"}
	}
	return done, err
}

// forbid signs that certificates are not believed any more, marks them, and asks all agents to
// get the lists. Facts come first: whoever finds the mark missing does all of it again.
func (h *Hub) forbid(ctx context.Context, by access.Who, reason string, means func(served, issuedToTarget) bool) (document.Request, error) {
	var marked []issuedToTarget
	for _, s := range h.served.values() {
		for _, c := range s.current(h.now()).Issued {
			if c.Forbidden != "" || !means(s, c) {
				continue
			}
			if err := h.registrar.Revoke(ctx, pki.Revocation{Serial: c.Serial, By: by.Name, Reason: reason}); err != nil {
				return document.Request{}, err
			}
		}
		news, err := h.mark(ctx, by, s, reason, means)
		if err != nil {
			return document.Request{}, err
		}
		marked = append(marked, news...)
	}
	if len(marked) == 0 {
		return document.Request{}, nil
	}
	if err := h.signLists(ctx); err != nil {
		return document.Request{}, err
	}
	return h.tellForbidden(ctx, by, marked)
}

// mark marks what is forbidden of a target, takes approvals of these names back, and bars them. It
// gives what nobody had marked before.
func (h *Hub) mark(ctx context.Context, by access.Who, s served, reason string, means func(served, issuedToTarget) bool) (news []issuedToTarget, err error) {
	if !slices.ContainsFunc(s.Issued, func(c issuedToTarget) bool { return c.Forbidden == "" && means(s, c) }) {
		return nil, nil
	}
	_, err = h.served.change(ctx, string(s.Target), func(s *served) error {
		news = nil
		*s = s.current(h.now())
		for i, c := range s.Issued {
			if c.Forbidden != "" || !means(*s, c) {
				continue
			}
			s.Issued[i].Forbidden = by.Name
			news = append(news, s.Issued[i])
			s.bar(c.Names, by.Name, reason, h.now())
		}
		return nil
	})
	if errors.Is(err, fleet.ErrNotFound) {
		return nil, nil
	}
	for _, c := range news {
		h.note(ctx, fleet.HubEvent{Kind: fleet.Distrust, Target: s.Target, By: by.Name, Text: fmt.Sprintf("the certificate of %v, serial %s: %s", c.Names, c.Serial, reason)})
	}
	return news, err
}

func (s *served) bar(names []string, by, reason string, now time.Time) {
	s.Approved = slices.DeleteFunc(slices.Clone(s.Approved), func(a approvedNames) bool {
		return slices.ContainsFunc(a.Names, func(n string) bool { return slices.Contains(names, n) })
	})
	for _, n := range names {
		s.unbar([]string{n})
		s.Barred = append(s.Barred, barredName{Name: n, By: by, At: now.Unix(), Reason: reason})
	}
	s.Barred = s.Barred[max(0, len(s.Barred)-maxBarred):]
}

func (s *served) unbar(names []string) {
	s.Barred = slices.DeleteFunc(slices.Clone(s.Barred), func(b barredName) bool { return slices.Contains(names, b.Name) })
}

// tellForbidden asks all agents to get the lists, and keeps the request for those that are away.
func (h *Hub) tellForbidden(ctx context.Context, by access.Who, all []issuedToTarget) (document.Request, error) {
	var words []string
	for _, c := range all {
		words = append(words, c.Hub+"/"+c.Serial)
	}
	slices.Sort(words)
	var ids []fleet.TargetID
	for _, t := range h.targets.values() {
		if t.Standing == fleet.Active {
			ids = append(ids, t.ID)
		}
	}
	if len(ids) == 0 {
		return document.Request{ID: "-"}, nil
	}
	return h.Do(ctx, by, document.DoRequest{What: fleet.DoForbid, Arg: strings.Join(words, " "), Expires: int64(pki.ListLife)}, ids)
}

// forbidOf forbids what a target has that is not one of the fleet any more.
func (h *Hub) forbidOf(id fleet.TargetID, t fleet.Target) {
	if s, _, there := h.served.get(string(id)); !there || !slices.ContainsFunc(s.Issued, func(c issuedToTarget) bool { return c.Forbidden == "" }) {
		return
	}
	ctx, stop := context.WithTimeout(h.ctx, askFor)
	defer stop()
	_, err := h.forbid(ctx, access.Somebody(t.By, ""), "the target is "+string(t.Standing), func(s served, _ issuedToTarget) bool { return s.Target == id })
	if err != nil && h.ctx.Err() == nil {
		h.warn("cannot forbid the certificates of a target that is " + string(t.Standing) + ": " + err.Error())
	}
}
