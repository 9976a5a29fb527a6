package fleet

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// AskKind is something that an agent may ask hubs for. It is about its own target alone:
// there is no way to name another one.
type AskKind string

// What can be asked for. Certificates are no part of it: whoever has one renews it.
const (
	AskSuspect AskKind = "suspect" // mark me as one that is not to be relied on
	AskFreeze  AskKind = "freeze"  // change me no more until somebody has looked
)

// AskKinds are all of them.
func AskKinds() []AskKind { return []AskKind{AskFreeze, AskSuspect} }

// MaxBecause bounds the reason of an ask, in bytes.
const MaxBecause = 500

// Ask is what an agent asks hubs for. Whose it is, its certificate says and nothing else.
type Ask struct {
	What    AskKind `json:"what"`
	Because string  `json:"because"` // for people, one line
}

// The answers to an Ask that is not refused.
const (
	AskDone = "done" // and it stays so until somebody of the fleet says otherwise
	AskHeld = "held" // until somebody approves or refuses it
)

// AskAnswer is what becomes of an ask.
type AskAnswer struct {
	Answer string `json:"answer"`
}

// Check says what is wrong with an ask.
func (a Ask) Check() error {
	switch {
	case a.What != AskSuspect && a.What != AskFreeze:
		return fmt.Errorf("cannot ask for %.40q: there are freeze and suspect", a.What)
	case strings.TrimSpace(a.Because) == "":
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
	if len(b) > 8*MaxBecause {
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
}
