package fleet

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// AskKind is something that an agent may ask hubs for. It is about its own target alone:
// there is no way to name another one.
type AskKind string

// What can be asked for. The certificate with which a target shows who it is is no part of it:
// whoever has one renews it.
const (
	AskSuspect     AskKind = "suspect"     // mark me as one that is not to be relied on
	AskFreeze      AskKind = "freeze"      // change me no more until somebody has looked
	AskCertificate AskKind = "certificate" // for a service of mine
)

// AskKinds are all of them.
func AskKinds() []AskKind { return []AskKind{AskCertificate, AskFreeze, AskSuspect} }

// Bounds of an ask, in bytes.
const (
	MaxBecause = 500
	maxAsk     = 16 << 10
)

// Ask is what an agent asks hubs for. Whose it is, its certificate says and nothing else.
type Ask struct {
	What    AskKind `json:"what"`
	Because string  `json:"because"` // for people, one line; a certificate needs none
	// Names are those of the service, sorted, and Request is signed by the key of its
	// certificate, as PEM: of AskCertificate alone.
	Names   []string `json:"names,omitempty"`
	Request string   `json:"request,omitempty"`
}

// Same tells whether two asks are for the same: with whatever key.
func (a Ask) Same(b Ask) bool {
	return a.What == b.What && a.Because == b.Because && slices.Equal(a.Names, b.Names)
}

// The answers to an Ask that is not refused.
const (
	AskDone = "done" // and it stays so until somebody of the fleet says otherwise
	AskHeld = "held" // until somebody approves or refuses it
)

// AskAnswer is what becomes of an ask.
type AskAnswer struct {
	Answer string `json:"answer"`
	// Certificate is one that was asked for, with that of who made it behind it: PEM.
	Certificate string `json:"certificate,omitempty"`
}

// Check says what is wrong with an ask.
func (a Ask) Check() error {
	switch {
	case !slices.Contains(AskKinds(), a.What):
		return fmt.Errorf("cannot ask for %.40q: there are certificate, freeze and suspect", a.What)
	case (a.What == AskCertificate) != (len(a.Names) > 0), (a.What == AskCertificate) != (a.Request != ""):
		return errors.New("cannot ask for a certificate without names and a key, nor for anything else with them")
	case strings.TrimSpace(a.Because) == "" && a.What != AskCertificate:
		return errors.New("cannot ask without a reason: say why in a line")
	case len(a.Because) > MaxBecause:
		return fmt.Errorf("cannot take a reason of %d bytes: %d are the most", len(a.Because), MaxBecause)
	case !utf8.ValidString(a.Because) || strings.ContainsFunc(a.Because, unicode.IsControl):
		return errors.New("cannot take a reason that is not one line of text")
	}
	return nil
}

// ParseAsk reads one strictly.
func ParseAsk(b []byte) (Ask, error) {
	var a Ask
	if len(b) > maxAsk {
		return a, fmt.Errorf("cannot read what is asked for in %d bytes", len(b))
	}
	if err := decode(b, &a); err != nil {
		return a, fmt.Errorf("cannot read what is asked for: %w", err)
	}
	return a, a.Check()
}

// Suspicion says that a target is not to be relied on, and why. It is given what it was
// given before.
type Suspicion struct {
	Because string `json:"because"`
	By      string `json:"by"`    // who said so: a person, or the target itself
	Since   int64  `json:"since"` // seconds since 1970
	// Copies are the hosts that have the identity of the target. There are two or more if a
	// hub proved that the target was cloned. Otherwise there are none.
	Copies []Copy `json:"copies,omitempty"`
}

// Cloned tells whether it is proved that several hosts have the identity of this target. Then
// hubs trust none of them until an operator decides.
func (t *Target) Cloned() bool { return t.Suspect != nil && len(t.Suspect.Copies) > 0 }
