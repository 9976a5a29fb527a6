package fleet

import (
	"cmp"
	"fmt"
)

// Verdict is what becomes of something that an agent asks for; "" is Hold.
type Verdict string

// The verdicts.
const (
	Hold   Verdict = "hold"   // until somebody with the right approve decides
	Allow  Verdict = "allow"  // at once
	Refuse Verdict = "refuse" // always
)

// Check says what is wrong with a verdict.
func (v Verdict) Check() error {
	if v != Hold && v != Allow && v != Refuse {
		return fmt.Errorf("cannot answer what agents ask for by %.40q: there are hold, allow and refuse", string(v))
	}
	return nil
}

// AskPolicy says what becomes of what agents ask for. It is one for all hubs of a fleet.
type AskPolicy struct {
	// Answers are by what is asked for; what is left out is held.
	Answers map[AskKind]Verdict `json:"answers"`
	// Certificates are the rules for certificates of services, in their order.
	Certificates []CertificateRule `json:"certificates,omitempty"`

	By      string `json:"by"`      // who changed it last
	Changed int64  `json:"changed"` // ns since 1970
}

// CertificateRule says what becomes of asks of some targets for a certificate of some names.
type CertificateRule struct {
	// Select is a selection as -t takes it, of names and labels. It is asked again each time.
	Select []string `json:"select"`
	// Names are names in DNS, with * for a whole label, addresses, networks, or @own for the
	// target's own name.
	Names  []string `json:"names"`
	Answer Verdict  `json:"answer"`
}

// MaxCertificateRules bounds how many there are.
const MaxCertificateRules = 200

// Of is what becomes of asks of a kind.
func (p AskPolicy) Of(what AskKind) Verdict { return cmp.Or(p.Answers[what], Hold) }

// CheckAnswers says what is wrong with the answers of a policy.
func CheckAnswers(answers map[AskKind]Verdict) error {
	for what, v := range answers {
		if what != AskFreeze && what != AskSuspect {
			return fmt.Errorf("cannot say what becomes of asks for %.40q: there are freeze and suspect", string(what))
		}
		if err := v.Check(); err != nil {
			return err
		}
	}
	return nil
}
