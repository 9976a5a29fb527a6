// Package hint adds the next step of the user to an error. The text of the error stays the same; the
// command line prints the hint below it, and in its JSON document.
//
//	return hint.Refuse("Log in: fettle login https://HOST:PORT", "cannot connect to a hub: there is no login")
package hint

import "errors"

// hinted is an error with a hint.
type hinted struct {
	err  error
	hint string
}

func (h *hinted) Error() string { return h.err.Error() }
func (h *hinted) Unwrap() error { return h.err }

// With adds a hint to an error, which stays in the chain. nil stays nil.
func With(err error, hint string) error {
	if err == nil {
		return nil
	}
	return &hinted{err, hint}
}

// Refuse returns an error with a text and the hint about the command to use instead.
func Refuse(hint, text string) error { return &hinted{errors.New(text), hint} }

// Of returns the outermost hint in the chain of an error. ok is false if there is none.
func Of(err error) (text string, ok bool) {
	var h *hinted
	if !errors.As(err, &h) {
		return "", false
	}
	return h.hint, true
}
