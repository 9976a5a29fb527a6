package locks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/coordination"
	"fettle.dev/fettle/internal/fleet/pki"
)

// The paths of the FleetLock protocol, as Zincati and other programs use it. The group of a client is the name of a
// lock, and its ID is the ID or the name of its target.
const (
	PreRebootPath   = "/v1/pre-reboot"
	SteadyStatePath = "/v1/steady-state"
)

// maxBody is the maximum size of a request, in bytes.
const maxBody = 4 << 10

// patience limits the time for an answer.
const patience = 20 * time.Second

// fleetLockRequest is the body of a request. Clients of the protocol may send further fields.
type fleetLockRequest struct {
	Client struct {
		ID    string `json:"id"`
		Group string `json:"group"`
	} `json:"client_params"`
}

// fleetLockAnswer is the body of an answer. Kind and Value are of the protocol; the rest is for the owner of a slot.
type fleetLockAnswer struct {
	Kind    string `json:"kind"`
	Value   string `json:"value"`
	Token   uint64 `json:"token,omitempty"`
	Expires string `json:"expires,omitempty"`
}

// refusal is an answer with a status other than 200.
type refusal struct {
	status      int
	kind, value string
}

func (r *refusal) Error() string { return r.value }

// ServePreReboot grants a slot of the lock with the name of the client's group.
func (s *Locks) ServePreReboot(w http.ResponseWriter, r *http.Request) {
	s.serve(w, r, func(ctx context.Context, lock, owner string) (fleetLockAnswer, error) {
		h, err := s.Acquire(ctx, lock, owner)
		return fleetLockAnswer{Kind: "slot_acquired", Value: "the target holds a slot of the lock " + lock, Token: h.Token,
			Expires: moment(h.Expires)}, err
	})
}

// ServeSteadyState releases the slot of the client. It is successful too if the client has none.
func (s *Locks) ServeSteadyState(w http.ResponseWriter, r *http.Request) {
	s.serve(w, r, func(ctx context.Context, lock, owner string) (fleetLockAnswer, error) {
		err := s.Release(ctx, lock, owner, "", "")
		return fleetLockAnswer{Kind: "slot_released", Value: "the target holds no slot of the lock " + lock}, err
	})
}

func (s *Locks) serve(w http.ResponseWriter, r *http.Request,
	do func(ctx context.Context, lock, owner string) (fleetLockAnswer, error)) {
	ctx, done := context.WithTimeout(r.Context(), patience)
	defer done()
	status := http.StatusOK
	lock, owner, err := s.request(ctx, w, r)
	var answer fleetLockAnswer
	if err == nil {
		answer, err = do(ctx, lock, owner)
	}
	if err != nil {
		refused := refusalOf(err)
		status, answer = refused.status, fleetLockAnswer{Kind: refused.kind, Value: refused.value}
	}
	text, err := json.Marshal(answer)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte("{}")
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // if it fails, the client is gone
}

// request returns the lock that a request is for, and its owner: the target of the client certificate.
func (s *Locks) request(ctx context.Context, w http.ResponseWriter, r *http.Request) (lock, owner string, err error) {
	t, err := s.client(ctx, r)
	if err != nil {
		return "", "", err
	}
	if ok, _ := s.limiter.Take(t.ID, s.Now()); !ok {
		return "", "", &refusal{http.StatusTooManyRequests, "too_many_requests",
			fmt.Sprintf("the target sends too many requests: after %d requests, one in %s is allowed", requestBurst,
				requestInterval)}
	}
	if r.Header.Get("fleet-lock-protocol") != "true" {
		return "", "", &refusal{http.StatusBadRequest, "no_protocol_header",
			"the request does not have the header fleet-lock-protocol: true"}
	}
	var in fleetLockRequest
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err == nil {
		err = json.Unmarshal(text, &in)
	}
	switch {
	case err != nil:
		return "", "", &refusal{http.StatusBadRequest, "invalid_request",
			fmt.Sprintf("cannot read the request, which has up to %d bytes of JSON: %v", maxBody, err)}
	case in.Client.ID != string(t.ID) && in.Client.ID != t.Name:
		return "", "", &refusal{http.StatusForbidden, "wrong_id",
			fmt.Sprintf("the id must be the name or the ID of the target with this certificate: %s, %s", t.Name, t.ID)}
	}
	if err := s.MayChange(); err != nil {
		return "", "", &refusal{http.StatusServiceUnavailable, "no_quorum", err.Error()}
	}
	return in.Client.Group, string(t.ID), nil
}

// client returns the target of the client certificate.
func (s *Locks) client(ctx context.Context, r *http.Request) (fleet.Target, error) {
	trust, err := s.Trust()
	if err != nil {
		return fleet.Target{}, err
	}
	id, err := trust.TargetOf(r.TLS, s.Now())
	if err != nil {
		return fleet.Target{}, &refusal{http.StatusUnauthorized, "no_certificate",
			"the client has no valid certificate of a target of this fleet"}
	}
	t, err := s.Trusted(ctx, id)
	if errors.Is(err, fleet.ErrDenied) || errors.Is(err, fleet.ErrNotFound) {
		return t, &refusal{http.StatusForbidden, "not_trusted", err.Error()}
	}
	return t, err
}

// refusalOf returns the answer for an error.
func refusalOf(err error) *refusal {
	known, refused := (*refusal)(nil), (*RefusedError)(nil)
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &refused) && (refused.Refused == coordination.Full || refused.Refused == coordination.Related):
		return &refusal{http.StatusConflict, "slots_taken", refused.Why}
	case errors.As(err, &refused):
		return &refusal{http.StatusServiceUnavailable, string(refused.Refused), refused.Why}
	case errors.Is(err, ErrUnknown):
		return &refusal{http.StatusNotFound, "unknown_group", err.Error() +
			". The group of a client must be the name of a lock that the repository declares"}
	case errors.Is(err, pki.ErrRevoked):
		return &refusal{http.StatusForbidden, "not_trusted", err.Error()}
	}
	return &refusal{http.StatusServiceUnavailable, "no_answer",
		"the result is unknown, repeat the request: " + err.Error()}
}
