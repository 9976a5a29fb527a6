package pki

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// JoinRequest is the request of a hub to join a fleet.
type JoinRequest struct {
	Format  string   `json:"format"`
	Token   string   `json:"token"`
	Request string   `json:"request"` // PEM, see Hub.Request
	Name    string   `json:"name"`
	Hosts   []string `json:"hosts"`   // names and addresses for its certificate
	HubURLs []string `json:"hubs"`    // URLs for users and agents
	BusURLs []string `json:"buses"`   // URLs of its bus
	Cluster []string `json:"cluster"` // HOST:PORT for other hubs
}

// Welcome is the answer to JoinRequest, with all data that the new hub needs.
type Welcome struct {
	Format       string `json:"format"`
	Certificates string `json:"certificates"` // for Hub.Install
	Fleet        string `json:"fleet"`
	// Members are the hubs of the fleet, in the format of package hub.
	Members json.RawMessage `json:"members"`
	// Hook is the webhook secret for git servers.
	Hook string `json:"hook,omitempty"`
	// Nats describes the NATS cluster that stores the data; nil if the hubs store it.
	Nats *WelcomeNats `json:"nats,omitempty"`
}

// WelcomeNats describes the NATS cluster of others on which the fleet stores its data.
type WelcomeNats struct {
	URLs     []string `json:"urls"`
	Prefix   string   `json:"prefix"`
	Replicas int      `json:"replicas,omitempty"`
	CA       string   `json:"ca,omitempty"` // PEM
	Key      string   `json:"key"`          // the stored data is sealed with it; hex
	Login    bool     `json:"login"`        // credentials are needed
}

const (
	joinRequestFormat = "fettle.joining/1"
	welcomeFormat     = "fettle.welcome/1"
	maxJoinRequest    = 16 << 10 // bytes
)

// HubRegistry is the hub that accepts new hubs.
type HubRegistry interface {
	// CheckRoom returns an error if no hub can join now.
	CheckRoom(ctx context.Context, j JoinRequest, key string) error
	// Certify certifies a hub whose token was spent, and adds it to the list. It may be called again
	// for the same key.
	Certify(ctx context.Context, j JoinRequest, key, by string) (Welcome, error)
}

// Refuse returns a Refusal with an HTTP status, for a HubRegistry.
func Refuse(status int, format string, args ...any) error { return refuse(status, format, args...) }

// ServeJoin handles POST /v1/hubs/join: a JoinRequest, answered by a Welcome. A hub controls the whole
// fleet, so only admins create the token, and it is valid for one hub.
func (r *Registrar) ServeJoin(w http.ResponseWriter, q *http.Request, h HubRegistry) {
	from, err := addressOf(q)
	if err != nil {
		respond(w, http.StatusBadRequest, problem{err.Error()})
		return
	}
	var j JoinRequest
	body, err := io.ReadAll(http.MaxBytesReader(w, q.Body, maxJoinRequest))
	if err == nil {
		err = strictJSON(body, &j)
	}
	if err != nil || j.Format != joinRequestFormat {
		r.failed(from)
		respond(w, http.StatusBadRequest, problem{"cannot read this request: it must be JSON of the format " +
			joinRequestFormat})
		return
	}
	answer, err := r.join(q.Context(), j, from, h)
	if refusal, theirs := errors.AsType[*Refusal](r.limited(from, err)); theirs {
		respond(w, refusal.Status, problem{refusal.Text})
		return
	}
	if err != nil {
		respond(w, http.StatusServiceUnavailable,
			problem{"cannot do this now: the hub cannot read or write its store. Retry later"})
		return
	}
	respond(w, http.StatusOK, answer)
}

func (r *Registrar) join(ctx context.Context, j JoinRequest, from netip.Addr, h HubRegistry) (Welcome, error) {
	token, err := ParseToken(j.Token)
	if err != nil {
		return Welcome{}, refuse(unauthorized, "%v", err)
	}
	stored, err := r.token(ctx, token.ID)
	if err != nil {
		return Welcome{}, err
	}
	keys, err := parseHubRequest([]byte(j.Request))
	if err != nil {
		return Welcome{}, refuse(malformed, "%v", err)
	}
	key, err := KeyDigest(keys[0])
	if err != nil {
		return Welcome{}, err
	}
	a := asking{secret: token.Secret, key: key, name: j.Name, address: from}
	// The secret is checked before all data that it protects.
	if _, err := stored.value.admit(a, r.Now()); err != nil {
		return Welcome{}, err
	}
	if !stored.value.Hub {
		return Welcome{}, refuse(forbidden, "cannot join with this token: it is for targets. Make one with fettle hub token")
	}
	if err := errors.Join(fleet.CheckName(j.Name), CheckFleet(j.Name)); err != nil {
		return Welcome{}, refuse(malformed, "%v", err)
	}
	if err := h.CheckRoom(ctx, j, key); err != nil {
		return Welcome{}, err
	}
	if err := r.spendForHub(ctx, stored, a); err != nil {
		return Welcome{}, err
	}
	if err := r.note(ctx, AuditRecord{By: "token " + token.ID, Operation: "hub", Text: j.Name + " joins"}); err != nil {
		return Welcome{}, err
	}
	answer, err := h.Certify(ctx, j, key, "token "+token.ID)
	answer.Format = welcomeFormat
	return answer, err
}

// spendForHub uses a token, unless the key has used it already.
func (r *Registrar) spendForHub(ctx context.Context, t entry[StoredToken], a asking) error {
	for {
		spend, err := t.value.admit(a, r.Now())
		if err != nil || !spend {
			return err
		}
		err = store(ctx, r.Tokens, t.value.ID, t.value.use(a.key, r.Now()), t.rev)
		if !errors.Is(err, fleet.ErrConflict) {
			return err
		}
		if t, err = r.token(ctx, t.value.ID); err != nil {
			return err
		}
	}
}

// Join asks a hub to accept this hub, and accepts that hub only if the token contains the digest of
// its fleet CA. While that hub reports that no hub can join now, Join waits until ctx ends. A
// repeated call with the same keys has the same result.
func (c Client) Join(ctx context.Context, hub string, token Token, keys *Hub, j JoinRequest) (Welcome, error) {
	request, err := keys.Request()
	if err != nil {
		return Welcome{}, err
	}
	j.Format, j.Token, j.Request = joinRequestFormat, token.Text(), string(request)
	body, err := json.Marshal(j)
	if err != nil {
		return Welcome{}, fmt.Errorf("cannot write the request to join: %w", err)
	}
	for promised := false; ; {
		w, wait, err := c.joinOnce(ctx, hub, token, body)
		_, answered := errors.AsType[*Refusal](err)
		promised = promised || wait
		// A hub that announced a restart is unreachable for a moment.
		if err == nil || ctx.Err() != nil || !wait && (answered || !promised) {
			return w, err
		}
		select {
		case <-ctx.Done():
			return w, err
		case <-time.After(time.Second):
		}
	}
}

// joinOnce sends one request; wait is true if a retry can succeed.
func (c Client) joinOnce(ctx context.Context, hub string, token Token, body []byte) (w Welcome, wait bool, err error) {
	status, b, err := c.post(ctx, hub+"/v1/hubs/join", body, pinned(token.Authority, c.Now))
	if err != nil {
		return w, false, err
	}
	if status != http.StatusOK {
		var p problem
		if json.Unmarshal(b, &p) != nil || p.Error == "" {
			return w, false, fmt.Errorf(
				"cannot read the answer: its HTTP status is %d. Check that this is the address of a hub", status)
		}
		return w, status == http.StatusServiceUnavailable, &Refusal{Status: status, Text: p.Error}
	}
	if err := json.Unmarshal(b, &w); err != nil {
		return w, false, fmt.Errorf("cannot read the answer of the hub: %w", err)
	}
	if w.Format != welcomeFormat {
		return w, false, fmt.Errorf("cannot read an answer of the format %.40q: this version of fettle supports %s",
			w.Format, welcomeFormat)
	}
	certs, err := ParseCertificates([]byte(w.Certificates))
	if err == nil && (len(certs) == 0 || DigestOf(certs[0]) != token.Authority) {
		err = errors.New("cannot accept certificates of a different fleet CA")
	}
	return w, false, err
}
