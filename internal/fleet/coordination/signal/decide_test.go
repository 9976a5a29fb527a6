package signal

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const start = 1_700_000_000_000 // ms since 1970

var schema = Definition{Name: "schema", Keep: time.Hour}

// payloads returns the payloads of the kept signals.
func payloads(s State, now int64) string {
	var out []string
	for _, x := range s.Kept(now) {
		out = append(out, x.Sender+"="+x.Payload)
	}
	return strings.Join(out, " ")
}

func TestSend(t *testing.T) {
	s, _ := Decide(State{}, Event{Kind: Define, Definition: schema}, start)
	for i, x := range []string{"a=1", "b=1", "a=2", "a=1"} {
		sender, payload, _ := strings.Cut(x, "=")
		s, _ = Decide(s, Event{Kind: Send, Sender: sender, Payload: payload}, start+int64(i))
	}
	if got := payloads(s, start+3); got != "b=1 a=2 a=1" {
		t.Errorf("the signals are %q", got)
	}
	newest, ok := s.Newest(start+3, start+3)
	if !ok || newest.Payload != "1" || newest.First != start || newest.At != start+3 {
		t.Errorf("the newest signal is %+v, %v", newest, ok)
	}
	if _, ok := s.Newest(start+4, start+4); ok {
		t.Error("a signal from before is the newest one since then")
	}
	s, a := Decide(s, Event{Kind: Send, Sender: "a", User: true, Payload: "1"}, start+4)
	if len(s.Kept(start+4)) != 4 || a.Changes[0].Kind != New {
		t.Error("a user and a target with the same name are one sender")
	}
	s, a = Decide(s, Event{Kind: Tick}, start+time.Hour.Milliseconds()+3)
	if got := payloads(s, start); got != "a=1" || fmt.Sprint(a.Changes) != "[{expired 3}]" {
		t.Errorf("after an hour, the signals are %q, the changes %v", got, a.Changes)
	}
	s, a = Decide(s, Event{Kind: Clear}, start+time.Hour.Milliseconds()+3)
	if got := payloads(s, start); got != "" || fmt.Sprint(a.Changes) != "[{cleared 1}]" {
		t.Errorf("cleared, the signals are %q, the changes %v", got, a.Changes)
	}
}

func TestUndeclared(t *testing.T) {
	s, _ := Decide(State{}, Event{Kind: Define, Definition: schema}, start)
	s, _ = Decide(s, Event{Kind: Send, Sender: "a"}, start)
	s, a := Decide(s, Event{Kind: Undefine}, start)
	if _, ok := s.Newest(0, start); ok || fmt.Sprint(a.Changes) != "[{undefined 0}]" {
		t.Error("an undeclared signal counts as sent")
	}
	s, a = Decide(s, Event{Kind: Send, Sender: "a"}, start)
	if !a.Undeclared || len(s.Sent) != 0 || a.Explain("schema") == "" {
		t.Error("an undeclared signal was sent")
	}
	if s, a = Decide(s, Event{Kind: Define, Definition: schema}, start); s.Undeclared || len(a.Changes) != 1 {
		t.Error("the signal is not declared again")
	}
	if _, a = Decide(s, Event{Kind: Define, Definition: schema}, start); len(a.Changes) != 0 || a.Explain("x") != "" {
		t.Error("the same definition has an effect")
	}
}

func TestSenders(t *testing.T) {
	d := Definition{Senders: []string{"web1"}}
	if !d.Permits("web1") || d.Permits("web2") || (Definition{}).Permits("") {
		t.Error("the senders are wrong")
	}
}

func TestCheck(t *testing.T) {
	if err := schema.Check(); err != nil {
		t.Error(err)
	}
	for _, d := range []Definition{{Name: "1", Keep: time.Hour}, {Name: "a"}, {Name: "a", Keep: MaxKeep + 1}} {
		if d.Check() == nil {
			t.Errorf("no error for %+v", d)
		}
	}
	if CheckPayload(strings.Repeat("a", MaxPayload)) != nil || CheckPayload(strings.Repeat("a", MaxPayload+1)) == nil ||
		CheckPayload("\xff") == nil {
		t.Error("the check of a payload is wrong")
	}
}

// TestHistories compares random histories with a list of all requests.
func TestHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type request struct {
			sender, payload string
			at              time.Duration
		}
		var all []request
		s, _ := Decide(State{}, Event{Kind: Define, Definition: schema}, start)
		at := time.Duration(0)
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			at += rapid.SampledFrom([]time.Duration{0, time.Millisecond, time.Minute, 31 * time.Minute}).Draw(t, "time")
			now := start + at.Milliseconds()
			if rapid.IntRange(0, 20).Draw(t, "clear") == 0 {
				s, _ = Decide(s, Event{Kind: Clear}, now)
				all = nil
			}
			r := request{rapid.SampledFrom([]string{"a", "b"}).Draw(t, "sender"),
				fmt.Sprint(rapid.IntRange(0, 40).Draw(t, "payload")), at}
			s, _ = Decide(s, Event{Kind: Send, Sender: r.sender, Payload: r.payload}, now)
			all = append(all, r)
			var want []string
			for i := len(all) - 1; i >= 0 && len(want) < 50; i-- {
				text := all[i].sender + "=" + all[i].payload
				if at-all[i].at < time.Hour && !slices.Contains(want, text) {
					want = append(want, text)
				}
			}
			slices.Reverse(want)
			if got := payloads(s, now); got != strings.Join(want, " ") {
				t.Fatalf("the signals are\n%s; want\n%s", got, strings.Join(want, " "))
			}
		}
	})
}
