package content

import (
	"net/http/httptest"
	"strings"
	"testing"
)

// TestBoundaries: each limit includes its maximum.
func TestBoundaries(t *testing.T) {
	for what, c := range map[string]struct {
		count       int
		size, total int64
		refused     string
	}{
		"at all maximums":  {MaxHistoryCommits, maxCommit, MaxHistory, ""},
		"too many commits": {MaxHistoryCommits + 1, 1, 1, "commits"},
		"a large commit":   {1, maxCommit + 1, 1, "a commit of more"},
		"too much":         {1, 1, MaxHistory + 1, "MiB"},
	} {
		if err := checkHistory(c.count, c.size, c.total); refused(err, c.refused) {
			t.Errorf("%s: %v", what, err)
		}
	}
	most := strings.Repeat("x", MaxSignedCommand-len(armorBegin)) + armorBegin
	if text, armor, err := splitCommand(most); err != nil || armor != armorBegin || len(text)+len(armor) != len(most) {
		t.Errorf("a command of the maximum size: %v", err)
	}
	if _, _, err := splitCommand("x" + most); refused(err, "the maximum is") {
		t.Errorf("a command above the maximum size: %v", err)
	}
}

// refused reports whether an error is not the expected one; "" expects none.
func refused(err error, want string) bool {
	return want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want))
}

// TestPersonTime: the time of a person is a number of seconds and a time zone, from 1970 on.
func TestPersonTime(t *testing.T) {
	for text, want := range map[string]int64{
		"a <b> 0 +0000": 0, "a <b> 1700000000 +0100": 1700000000, "a <b> c> 7 +0000": 7,
		"a <b> -1 +0000": -1, "a <b> 1": -1, "a <b> 1 +0000 x": -1, "a <b> x +0000": -1, "": -1,
	} {
		got, err := personTime(text)
		if (err != nil) != (want < 0) || err == nil && got != want {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
}

// TestParseAcceptedErrors: the first error is the one about the format, then that of a part.
func TestParseAcceptedErrors(t *testing.T) {
	for text, want := range map[string]string{
		`{"format":"` + AcceptedFormat + `","parts":null}`:                   "",
		`{"format":"` + AcceptedFormat + `","parts":{"modules/web":"nope"}}`: "of ",
		`{"format":"other","parts":{"modules/web":"nope"}}`:                  "their format is",
		`{"format":"other","parts":{}}`:                                      "their format is",
		`{"format":"` + AcceptedFormat + `","extra":1}`:                      "extra",
		`nope`: "cannot read the accepted commits",
	} {
		a, err := ParseAccepted([]byte(text))
		if refused(err, want) || err == nil && a == nil {
			t.Errorf("%s: %v, %v", text, a, err)
		}
	}
}

// TestClientsOfHistories: a client has two requests at once, and others are not affected.
func TestClientsOfHistories(t *testing.T) {
	var h Histories
	for n, want := range []bool{true, true, false} {
		if h.enter("a") != want {
			t.Errorf("request %d of one client: want %t", n+1, want)
		}
	}
	if !h.enter("b") {
		t.Error("one client blocks another one")
	}
	h.leave("a")
	if !h.enter("a") {
		t.Error("want one more request after one has ended")
	}
	if h.enter("a") {
		t.Error("want only one more request after one has ended")
	}
	for _, client := range []string{"a", "a", "b"} {
		h.leave(client)
	}
	if len(h.clients) != 0 {
		t.Errorf("clients without a request: %v", h.clients)
	}
}

// TestHistoryAsked: a request has a commit, and at most two accepted commits.
func TestHistoryAsked(t *testing.T) {
	id := strings.Repeat("a", 40)
	asked := func(query string) bool {
		r := httptest.NewRequest("GET", HistoryPath+id+query, nil)
		commit, accepted, ok := historyAsked(r)
		return ok && commit == id && len(accepted) == strings.Count(query, HistoryAccepted)
	}
	one := HistoryAccepted + "=" + id
	for query, want := range map[string]bool{
		"": true, "?" + one: true, "?" + one + "&" + one: true, "?" + one + "&" + one + "&" + one: false,
		"?other=1": false, "?" + one + "&other=1": false, "?" + HistoryAccepted + "=nope": false,
	} {
		if asked(query) != want {
			t.Errorf("%q: want %t", query, want)
		}
	}
	if _, _, ok := historyAsked(httptest.NewRequest("GET", HistoryPath+"nope", nil)); ok {
		t.Error("a commit without 40 digits is accepted")
	}
}
