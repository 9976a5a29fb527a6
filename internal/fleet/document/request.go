package document

import (
	"cmp"
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/fleet"
)

// RequestPageFormat is the format of RequestPage.
const RequestPageFormat = "fettle.fleet.requests/2"

// Request is a request of an agent that is not decided.
type Request struct {
	Target fleet.TargetID    `json:"target"`
	Name   string            `json:"name"`
	What   fleet.RequestKind `json:"what"`
	Names  []string          `json:"names,omitempty"` // of a certificate
	Reason string            `json:"reason"`
	At     int64             `json:"at"`
}

// RequestPage has all requests that wait for a decision.
type RequestPage struct {
	Format   string    `json:"format"`
	Requests []Request `json:"requests"`
}

// RequestPolicyFormat is the format of RequestPolicy.
const RequestPolicyFormat = "fettle.fleet.requestpolicy/1"

// RequestPolicy is the policy for requests of agents.
type RequestPolicy struct {
	Format string `json:"format"`
	// Answers contains every kind except certificates, which have rules.
	Answers      map[fleet.RequestKind]fleet.Verdict `json:"answers"`
	Certificates []fleet.CertificateRule             `json:"certificates"`
	By           string                              `json:"by,omitempty"` // the user who changed it last
	Changed      int64                               `json:"changed,omitempty"`
}

// RequestPolicyChange changes one answer, or one rule for certificates: the rule with the same
// selection and names, or a new rule after all others. An empty Answer removes a rule.
type RequestPolicyChange struct {
	What   fleet.RequestKind `json:"what"`
	Answer fleet.Verdict     `json:"answer,omitempty"`
	Select []string          `json:"select,omitempty"`
	Names  []string          `json:"names,omitempty"`
	// First inserts a new rule before all other rules.
	First bool `json:"first,omitempty"`
}

// Text returns the change as text for display.
func (r RequestPolicyChange) Text() string {
	if r.What != fleet.RequestCertificate {
		return fmt.Sprintf("%s: %s", r.What, r.Answer)
	}
	return fmt.Sprintf("a certificate of %s by -t %s: %s", strings.Join(r.Names, " "), strings.Join(r.Select, " -t "),
		cmp.Or(r.Answer, "no rule"))
}

// RequestDecision decides a request of a target. Name is one of the names of the certificate, if
// several requests wait; otherwise "".
type RequestDecision struct {
	Reason string `json:"reason,omitempty"`
	Name   string `json:"name,omitempty"`
}
