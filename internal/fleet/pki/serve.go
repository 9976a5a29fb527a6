package pki

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/netip"
)

// maxEnrolment is the maximum size of a request of an unauthenticated client, in bytes.
const maxEnrolment = 8 << 10

// HTTP statuses of refusals.
const (
	malformed    = http.StatusBadRequest
	unauthorized = http.StatusUnauthorized
	forbidden    = http.StatusForbidden
	conflict     = http.StatusConflict
	tooMany      = http.StatusTooManyRequests
)

// ServeEnrol handles POST /v1/enrol: an Enrolment, answered by an Answer, with status 202 if it is
// pending. Errors are {"error": …}.
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
		respond(w, http.StatusBadRequest, problem{"cannot read this enrolment: it must be JSON of the format " +
			enrolmentFormat})
		return
	}
	a, err := r.Enrol(q.Context(), e, from)
	answer(w, a, r.limited(from, err))
}

// limited counts wrong tokens by address. After too many of them, the answer no longer contains the
// reason. A valid token is never refused because of wrong ones.
func (r *Registrar) limited(from netip.Addr, err error) error {
	if !isUnknown(err) || r.Limit == nil {
		return err
	}
	allowed := r.Limit.Allows(from, r.Now())
	r.failed(from)
	if allowed {
		return err
	}
	return refuse(tooMany,
		"cannot use this token: this address has sent too many wrong tokens. Wait a minute, and check the token")
}

// ServeRenew handles POST /v1/renew with the certificate to renew and a Renewal, answered like
// ServeEnrol. The body is read only if the client has a certificate of this fleet.
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

// ServeRevocations handles POST /v1/facts: a target sends revocations that the hub does not have, as a
// Renewal. The answer is 204.
func (r *Registrar) ServeRevocations(w http.ResponseWriter, q *http.Request) {
	trust, err := r.Hub.Trust(r.Revocations)
	if err != nil {
		answer(w, Answer{}, err)
		return
	}
	if p, err := trust.PeerOf(q.TLS, r.Now(), TargetKind, HubKind); err != nil {
		respond(w, http.StatusForbidden, problem{err.Error()})
		return
	} else if !r.tellings.allows(p.Name.ID, renewEvery, r.Now()) {
		respond(w, http.StatusTooManyRequests, problem{"cannot accept revocations so often. Wait a few minutes"})
		return
	}
	had, err := readRenewal(w, q, maxFacts)
	if err == nil {
		err = r.AcceptRevocations(q.Context(), had.Revocations)
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
		return had, refuse(malformed, "cannot read this request: it must be JSON of the format %s", renewalFormat)
	}
	return had, nil
}

// Renewal is the body of a request to renew a certificate, or to send revocations.
type Renewal struct {
	Format string `json:"format"`
	// Known is Revocations.Digest of the target. The hub sends its revocations only if its own
	// digest is different.
	Known string `json:"known,omitempty"`
	// Revocations are for ServeRevocations.
	Revocations [][]byte `json:"revocations,omitempty"`
}

const (
	renewalFormat = "fettle.renewal/1"
	maxRenewal    = 1 << 10 // bytes: ServeRenew accepts no revocations
	maxFacts      = 4 << 20 // bytes
)

func (r *Registrar) failed(from netip.Addr) {
	if r.Limit != nil {
		r.Limit.Failed(from, r.Now())
	}
}

// problem is the body of a refusal.
type problem struct {
	Error string `json:"error"`
}

func answer(w http.ResponseWriter, a Answer, err error) {
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		respond(w, refusal.Status, problem{refusal.Text})
		return
	}
	if err != nil {
		// Clients do not receive internal errors of the hub.
		respond(w, http.StatusServiceUnavailable,
			problem{"cannot do this now: the hub cannot read or write its store. Retry later"})
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
	// An error means that the client disconnected.
	_ = json.NewEncoder(w).Encode(body)
}

// addressOf returns the address of the connection. Headers are ignored, since clients can forge
// them.
func addressOf(q *http.Request) (netip.Addr, error) {
	ap, err := netip.ParseAddrPort(q.RemoteAddr)
	if err != nil {
		return netip.Addr{}, errors.New("cannot determine the address of the client")
	}
	return ap.Addr().Unmap().WithZone(""), nil
}
