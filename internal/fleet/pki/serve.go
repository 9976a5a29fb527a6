package pki

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/netip"
)

// maxEnrolment bounds what is read of somebody who has shown nothing yet, in bytes.
const maxEnrolment = 8 << 10

// Statuses of refusals, for those who decide and know nothing of HTTP.
const (
	malformed    = http.StatusBadRequest
	unauthorized = http.StatusUnauthorized
	forbidden    = http.StatusForbidden
	conflict     = http.StatusConflict
	tooMany      = http.StatusTooManyRequests
)

// ServeEnrol is POST /v1/enrol: an Enrolment, answered by an Answer, with 202 where it is
// pending. Mistakes are {"error": …}.
func (r *Registrar) ServeEnrol(w http.ResponseWriter, q *http.Request) {
	from, err := addressOf(q)
	if err != nil {
		respond(w, http.StatusBadRequest, problem{err.Error()})
		return
	}
	var e Enrolment
	body, err := io.ReadAll(http.MaxBytesReader(w, q.Body, maxEnrolment))
	if err == nil {
		err = strictJSON(body, &e)
	}
	if err != nil || e.Format != enrolmentFormat {
		r.failed(from)
		respond(w, http.StatusBadRequest, problem{"cannot read this enrolment: it is JSON of the format " + enrolmentFormat})
		return
	}
	a, err := r.Enrol(q.Context(), e, from)
	answer(w, a, r.limited(from, err))
}

// limited counts a wrong token of an address. After too many of them the answer no longer
// says why a token is refused. A valid token is never refused because of others.
func (r *Registrar) limited(from netip.Addr, err error) error {
	if !isUnknown(err) || r.Limit == nil {
		return err
	}
	allowed := r.Limit.Allows(from, r.Now())
	r.failed(from)
	if allowed {
		return err
	}
	return refuse(tooMany, "cannot use this token: too many wrong tokens came from this address. Wait a minute, and check the token")
}

// ServeRenew is POST /v1/renew with the certificate that is to be renewed and a Renewal,
// answered like ServeEnrol. Nothing is read of those who show no certificate of this fleet.
func (r *Registrar) ServeRenew(w http.ResponseWriter, q *http.Request) {
	p, err := r.caller(q.Context(), q.TLS)
	if err != nil {
		answer(w, Answer{}, err)
		return
	}
	had, err := readRenewal(w, q, maxRenewal)
	if err != nil {
		answer(w, Answer{}, err)
		return
	}
	a, err := r.renew(q.Context(), p)
	if a.Known != "" && a.Known == had.Known {
		a.Revocations = nil
	}
	answer(w, a, err)
}

// ServeFacts is POST /v1/facts: a target that knows of revocations that the hub does not
// have tells them, as a Renewal. The answer is 204.
func (r *Registrar) ServeFacts(w http.ResponseWriter, q *http.Request) {
	trust, err := r.Hub.Trust(r.Revocations)
	if err != nil {
		answer(w, Answer{}, err)
		return
	}
	if p, err := trust.PeerOf(q.TLS, r.Now(), TargetKind, HubKind); err != nil {
		respond(w, http.StatusForbidden, problem{err.Error()})
		return
	} else if !r.tellings.allows(p.Name.ID, renewEvery, r.Now()) {
		respond(w, http.StatusTooManyRequests, problem{"cannot take revocations so often. Wait some minutes"})
		return
	}
	had, err := readRenewal(w, q, maxFacts)
	if err == nil {
		err = r.Take(q.Context(), had.Revocations)
	}
	if err != nil {
		answer(w, Answer{}, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func readRenewal(w http.ResponseWriter, q *http.Request, most int64) (Renewal, error) {
	var had Renewal
	body, err := io.ReadAll(http.MaxBytesReader(w, q.Body, most))
	if err == nil {
		err = strictJSON(body, &had)
	}
	if err != nil || had.Format != renewalFormat {
		return had, refuse(malformed, "cannot read this: it is JSON of the format %s", renewalFormat)
	}
	return had, nil
}

// Renewal is what a target says when it renews, beside its certificate, or when it tells
// facts.
type Renewal struct {
	Format string `json:"format"`
	// Known is Revocations.Digest of what the target knows: it gets the set only where the
	// hub's is another.
	Known string `json:"known,omitempty"`
	// Revocations are for ServeFacts.
	Revocations [][]byte `json:"revocations,omitempty"`
}

const (
	renewalFormat = "fettle.renewal/1"
	maxRenewal    = 1 << 10 // bytes: what ServeRenew reads has no revocations
	maxFacts      = 4 << 20 // bytes
)

func (r *Registrar) failed(from netip.Addr) {
	if r.Limit != nil {
		r.Limit.Failed(from, r.Now())
	}
}

// problem is the body of an answer that refuses.
type problem struct {
	Error string `json:"error"`
}

func answer(w http.ResponseWriter, a Answer, err error) {
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		respond(w, refusal.Status, problem{refusal.Text})
		return
	}
	if err != nil {
		// What went wrong inside of the hub is not for those who are outside.
		respond(w, http.StatusServiceUnavailable, problem{"cannot do this now: the hub cannot read or write its store. Ask again later"})
		return
	}
	status := http.StatusOK
	if a.Pending != "" {
		status = http.StatusAccepted
	}
	respond(w, status, a)
}

func respond(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if status == http.StatusTooManyRequests || status == http.StatusAccepted || status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "60")
	}
	w.WriteHeader(status)
	// Who went away does not need the rest.
	_ = json.NewEncoder(w).Encode(body)
}

// addressOf is who really is at the other end; what headers say counts for nothing.
func addressOf(q *http.Request) (netip.Addr, error) {
	ap, err := netip.ParseAddrPort(q.RemoteAddr)
	if err != nil {
		return netip.Addr{}, errors.New("cannot tell where this comes from")
	}
	return ap.Addr().Unmap().WithZone(""), nil
}
