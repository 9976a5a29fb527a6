package document

import (
	"cmp"
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/fleet"
)

// AskPageFormat is the format of AskPage.
const AskPageFormat = "fettle.fleet.asks/1"

// Ask is what an agent asked for and nobody has decided yet.
type Ask struct {
	Target  fleet.TargetID `json:"target"`
	Name    string         `json:"name"`
	What    fleet.AskKind  `json:"what"`
	Names   []string       `json:"names,omitempty"` // of a certificate
	Because string         `json:"because"`
	At      int64          `json:"at"`
}

// AskPage is all that waits for somebody.
type AskPage struct {
	Format string `json:"format"`
	Asks   []Ask  `json:"asks"`
}

// AskPolicyFormat is the format of AskPolicy.
const AskPolicyFormat = "fettle.fleet.askpolicy/1"

// AskPolicy is what becomes of what agents ask for.
type AskPolicy struct {
	Format string `json:"format"`
	// Answers has every kind but certificates, for which there are rules.
	Answers      map[fleet.AskKind]fleet.Verdict `json:"answers"`
	Certificates []fleet.CertificateRule         `json:"certificates"`
	By           string                          `json:"by,omitempty"` // who changed it last
	Changed      int64                           `json:"changed,omitempty"`
}

// AskPolicyRequest changes one answer, or one rule for certificates: the one of the same
// selection and names, or a new one behind the others. An empty Answer takes a rule away.
type AskPolicyRequest struct {
	What   fleet.AskKind `json:"what"`
	Answer fleet.Verdict `json:"answer,omitempty"`
	Select []string      `json:"select,omitempty"`
	Names  []string      `json:"names,omitempty"`
	// First puts a new rule before the others.
	First bool `json:"first,omitempty"`
}

// Text is what it says, for people.
func (r AskPolicyRequest) Text() string {
	if r.What != fleet.AskCertificate {
		return fmt.Sprintf("%s: %s", r.What, r.Answer)
	}
	return fmt.Sprintf("a certificate of %s by -t %s: %s", strings.Join(r.Names, " "), strings.Join(r.Select, " -t "), cmp.Or(r.Answer, "no rule"))
}

// AskDecision decides what a target asked for. Name is one of those of the certificate, where
// several wait; "" else.
type AskDecision struct {
	Reason string `json:"reason,omitempty"`
	Name   string `json:"name,omitempty"`
}
