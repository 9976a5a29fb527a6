package fleet

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// RequestKind is a kind of requests that an agent sends to hubs. A request always concerns the
// agent's own target.
type RequestKind string

// The kinds of requests. The agent's own certificate is not one of them: an agent renews it without
// a request.
const (
	RequestSuspect     RequestKind = "suspect"     // mark the target as suspect
	RequestFreeze      RequestKind = "freeze"      // freeze the target until an operator unfreezes it
	RequestCertificate RequestKind = "certificate" // for a service of the target
)

// RequestKinds returns all kinds.
func RequestKinds() []RequestKind {
	return []RequestKind{RequestCertificate, RequestFreeze, RequestSuspect}
}

// Limits of a request, in bytes.
const (
	MaxReason  = 500
	maxRequest = 16 << 10
)

// Request is a request of an agent to the hubs. Only its certificate proves its target.
type Request struct {
	What   RequestKind `json:"what"`
	Reason string      `json:"because"` // for users, one line; a certificate needs none
	// Names are the names of the service, sorted. Signing is the signing request with the key of
	// the certificate, as PEM. Only RequestCertificate has them.
	Names   []string `json:"names,omitempty"`
	Signing string   `json:"request,omitempty"`
}

// Same returns true if two requests differ at most in their keys.
func (a Request) Same(b Request) bool {
	return a.What == b.What && a.Reason == b.Reason && slices.Equal(a.Names, b.Names)
}

// The answers to a Request that is not rejected.
const (
	RequestDone    = "done"    // in effect until a user of the fleet undoes it
	RequestPending = "pending" // until an operator approves or rejects it
)

// RequestAnswer is the reply of a hub to an agent's request.
type RequestAnswer struct {
	Answer string `json:"answer"`
	// Certificate is the requested certificate, followed by the certificate of its issuer: PEM.
	Certificate string `json:"certificate,omitempty"`
}

// Check returns an error if the request is invalid.
func (a Request) Check() error {
	switch {
	case !slices.Contains(RequestKinds(), a.What):
		return fmt.Errorf("cannot request %.40q: the kinds are certificate, freeze and suspect", a.What)
	case (a.What == RequestCertificate) != (len(a.Names) > 0), (a.What == RequestCertificate) != (a.Signing != ""):
		return errors.New("cannot create this request: a certificate needs names and a key, and other requests have none")
	case strings.TrimSpace(a.Reason) == "" && a.What != RequestCertificate:
		return errors.New("cannot create a request without a reason: specify one line of text")
	case len(a.Reason) > MaxReason:
		return fmt.Errorf("cannot accept a reason of %d bytes: the maximum is %d", len(a.Reason), MaxReason)
	case !utf8.ValidString(a.Reason) || strings.ContainsFunc(a.Reason, unicode.IsControl):
		return errors.New("cannot accept a reason that is not one line of text")
	}
	return nil
}

// ParseRequest parses a request. Unknown fields are errors.
func ParseRequest(b []byte) (Request, error) {
	var a Request
	if len(b) > maxRequest {
		return a, fmt.Errorf("cannot read a request of %d bytes", len(b))
	}
	if err := decode(b, &a); err != nil {
		return a, fmt.Errorf("cannot read a request: %w", err)
	}
	return a, a.Check()
}

// Suspicion marks a target as suspect, with the reason. The target keeps its assignment.
type Suspicion struct {
	Reason string `json:"because"`
	By     string `json:"by"`    // a user, or the target itself
	Since  int64  `json:"since"` // seconds since 1970
	// Copies are the hosts that have the identity of the target. There are two or more if a
	// hub proved that the target was cloned. Otherwise there are none.
	Copies []Copy `json:"copies,omitempty"`
}

// Cloned returns true if a hub proved that several hosts have the identity of this target. Hubs
// then trust none of them until an operator decides.
func (t *Target) Cloned() bool { return t.Suspect != nil && len(t.Suspect.Copies) > 0 }
