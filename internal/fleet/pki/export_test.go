package pki

import "testing"

// EnrolmentFor is what a host with a new key asks with.
func EnrolmentFor(t *testing.T, token Token, name string) Enrolment {
	t.Helper()
	key, err := newP256()
	if err != nil {
		t.Fatal(err)
	}
	request, err := newRequest(key)
	if err != nil {
		t.Fatal(err)
	}
	return Enrolment{Format: enrolmentFormat, Token: token.Text(), Request: string(request), Name: name}
}
