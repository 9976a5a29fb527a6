package fleet

import (
	"cmp"
	"fmt"
)

// Verdict is the decision about a request of an agent; "" is Hold.
type Verdict string

// The verdicts.
const (
	Hold   Verdict = "hold"   // until a user with the right approve decides
	Allow  Verdict = "allow"  // at once
	Reject Verdict = "reject" // always
)

// Check returns an error for an unknown verdict.
func (v Verdict) Check() error {
	if v != Hold && v != Allow && v != Reject {
		return fmt.Errorf("cannot answer requests of agents with %.40q: the answers are hold, allow and reject", string(v))
	}
	return nil
}

// RequestPolicy decides requests of agents. All hubs of a fleet share it.
type RequestPolicy struct {
	// Answers contains the answer for each kind; a kind without one is held.
	Answers map[RequestKind]Verdict `json:"answers"`
	// Certificates are the rules for certificates of services, in their order.
	Certificates []CertificateRule `json:"certificates,omitempty"`

	By      string `json:"by"`      // the user who changed it last
	Changed int64  `json:"changed"` // ns since 1970
}

// CertificateRule decides requests of some targets for certificates of some names.
type CertificateRule struct {
	// Select is a selection in the form of -t, of names and labels. It is evaluated for each
	// request.
	Select []string `json:"select"`
	// Names are DNS names, with * for a whole label, addresses, networks, or @own for the target's
	// own name.
	Names  []string `json:"names"`
	Answer Verdict  `json:"answer"`
}

// MaxCertificateRules is the maximum number of rules.
const MaxCertificateRules = 200

// Of returns the answer to requests of a kind.
func (p RequestPolicy) Of(what RequestKind) Verdict { return cmp.Or(p.Answers[what], Hold) }

// CheckAnswers returns an error if the answers of a policy are invalid.
func CheckAnswers(answers map[RequestKind]Verdict) error {
	for what, v := range answers {
		if what != RequestFreeze && what != RequestSuspect {
			return fmt.Errorf("cannot set an answer to requests for %.40q: the kinds are freeze and suspect", string(what))
		}
		if err := v.Check(); err != nil {
			return err
		}
	}
	return nil
}
