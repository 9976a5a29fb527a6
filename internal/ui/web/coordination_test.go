package web_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/web"
	"fettle.dev/fettle/test/fakehub"
)

// coordinated is a hub with a lock, a barrier and a signal. It records the changes.
type coordinated struct {
	fakehub.Hostile
	token   uint64
	members int
	changes *[]string
}

func (h coordinated) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answers := map[string]any{
		route.Locks().Path: document.LockPage{Locks: []document.Lock{
			{Name: "migrations", Slots: 1, Lease: 3600e9, OnExpiry: "free"},
			{Name: "reboots", Slots: 2, Taken: 2, Lease: 1800e9, OnExpiry: "keep", Reboots: true,
				Holders: []document.LockHolder{{Name: "web1", Token: h.token, State: document.SlotOverdue},
					{Target: "unnamed", Token: 9, State: document.SlotHeld}},
				Waiting: []document.LockWaiter{{Name: "db1"}}},
			{Name: "restored", Slots: 1, Opens: 1e18}, {Name: "reduced", Slots: 1, Taken: 2},
			{Name: "old", Undeclared: true}}},
		route.Barriers().Path: document.BarrierPage{Barriers: []document.Barrier{h.barrier(),
			{Name: "empty"}, {Name: "old", Undeclared: true}}},
		route.Signals().Path: document.SignalPage{Signals: []document.Signal{{Name: "schema", Keep: 86400e9,
			Senders: []string{"db1"}, Sent: []document.SentSignal{
				{Sender: "db1", Target: "x", Payload: "v1", First: 1, At: 1e9},
				{Sender: "kim", Payload: "v2", First: 2e9, At: 2e9}}},
			{Name: "unsent", Undeclared: true}}},
	}
	if doc, ok := answers[r.URL.Path]; ok {
		_ = json.NewEncoder(w).Encode(doc)
		return
	}
	if r.Method == http.MethodPost {
		text := make([]byte, 1000)
		n, _ := r.Body.Read(text)
		*h.changes = append(*h.changes, r.URL.Path+" "+string(text[:n]))
	}
	h.Hostile.ServeHTTP(w, r)
}

func (h coordinated) barrier() document.Barrier {
	b := document.Barrier{Name: "schema-2", Quorum: "80%", OfflineAfter: 600e9, Generation: 3, Opened: 1, Arrived: 1,
		Required: 2, Counted: h.members, Members: []document.BarrierMember{{Name: "db0", State: document.MemberNotEnrolled}}}
	for range h.members {
		b.Members = append(b.Members,
			document.BarrierMember{Target: "x", Name: "db1", State: document.MemberArrived, Since: 1},
			document.BarrierMember{Target: "x", Name: "db2", State: document.MemberExpected})
	}
	return b
}

func coordinatedSite(t *testing.T, rights ...string) (s *web.Site, changes *[]string) {
	changes = new([]string)
	return siteOf(t, coordinated{fakehub.Hostile{Rights: rights, Text: "x"}, 7, 1, changes}), changes
}

// inOrder checks that a page has texts in their order.
func inOrder(t *testing.T, page string, texts ...string) {
	t.Helper()
	at := 0
	for _, want := range texts {
		next := strings.Index(page[at:], want)
		if next < 0 {
			t.Fatalf("the page has no %q after %q", want, page[:at])
		}
		at += next + len(want)
	}
}

// TestLocksPage: a lock has its holders with their tokens, the waiting targets, and the reason why it grants no slots.
func TestLocksPage(t *testing.T) {
	s, _ := coordinatedSite(t, "operate", "read")
	page := read(s, "/locks").Body.String()
	inOrder(t, page, "migrations", "0 of 1 slots", "Lease 1h; after its end, the slot is free.",
		"No target has a slot", "reboots", "2 of 2 slots",
		"Lease 30m; after its end, the slot stays taken; needed for reboots.",
		"web1", "overdue", ">7<", "/locks/reboots/release?target=web1", "unnamed", "has a slot", ">9<", "db1", "waits",
		"restored from a backup", "reduced the number", "no longer declares this lock", "fettle lock list", "$HUB/v1/locks")
	s, _ = coordinatedSite(t, "read")
	if strings.Contains(read(s, "/locks").Body.String(), "/release") {
		t.Error("a reader sees the release of a slot")
	}
	if strings.Contains(read(s, "/locks/reboots/release?target=web1").Body.String(), `class="orders"`) {
		t.Error("a reader sees the form of a release")
	}
}

// submit sends a form, and returns the status and the page of the answer.
func submit(s *web.Site, path string, form url.Values) (int, string) {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// TestReleaseOfASlot: a release needs a reason and the confirmation that the target has finished. It releases only the
// slot that the user has seen.
func TestReleaseOfASlot(t *testing.T) {
	s, changes := coordinatedSite(t, "operate", "read")
	page := read(s, "/locks/reboots/release?target=web1").Body.String()
	inOrder(t, page, "reboots", "overdue", ">7<", `name="token" value="7"`,
		"fettle lock release reboots web1 --reason WHY")
	if strings.Contains(page, "data-path") {
		t.Error("the page updates itself, so it can change below a click")
	}
	for want, form := range map[string]url.Values{
		"not confirmed":    {"owner": {"web1"}, "token": {"7"}},
		"another slot now": {"owner": {"web1"}, "token": {"6"}, "finished": {"yes"}},
		"has no slot":      {"owner": {"db1"}, "token": {"7"}, "finished": {"yes"}}} {
		if status, page := submit(s, "/locks/reboots/release", form); status < 400 || !strings.Contains(page, want) {
			t.Errorf("%v: %d %s", form, status, page)
		}
	}
	if len(*changes) > 0 {
		t.Fatalf("a release was sent: %q", *changes)
	}
	for _, owner := range []string{"web1", "unnamed"} {
		form := url.Values{"owner": {owner}, "token": {"7"}, "finished": {"yes"}, "reason": {"it is off"}}
		if owner == "unnamed" {
			form.Set("token", "9")
		}
		if status, page := submit(s, "/locks/reboots/release", form); status != http.StatusSeeOther {
			t.Errorf("%d %s", status, page)
		}
	}
	want := `/v1/locks/reboots/release {"owner":"web1","reason":"it is off"}`
	if len(*changes) != 2 || strings.TrimSpace((*changes)[0]) != want {
		t.Errorf("%q, want %q", *changes, want)
	}
	if w := read(s, "/locks/reboots/release?target=db1"); w.Code != http.StatusNotFound {
		t.Errorf("a target without a slot: %d", w.Code)
	}
}

// TestBarriersPage: expected members come first, and members that do not count last. Of many members, the page has the
// first ones.
func TestBarriersPage(t *testing.T) {
	s, _ := coordinatedSite(t, "read")
	inOrder(t, read(s, "/barriers").Body.String(), "schema-2", "1 of 2 required members have arrived", "Quorum 80% of 1.",
		"do not count after 10m", "Generation 3 opened", ">db2<", "expected", ">db1<", "arrived", "db0", "not enrolled",
		"does not count", "empty", "selects no targets", "old", "no longer declares this barrier", "fettle barrier list",
		"$HUB/v1/barriers")
	many := siteOf(t, coordinated{fakehub.Hostile{Rights: []string{"read"}, Text: "x"}, 7, 5000, nil})
	page := read(many, "/barriers").Body.String()
	if n := strings.Count(page, ">db2<"); n != 200 || !strings.Contains(page, "9801 more members") {
		t.Errorf("the page has %d members", n)
	}
}

// TestSignalsPage: a signal has its payloads, the newest first. Operators send and clear it.
func TestSignalsPage(t *testing.T) {
	s, changes := coordinatedSite(t, "operate", "read")
	inOrder(t, read(s, "/signals").Body.String(), "schema", "kept for 24h", "Senders: users, db1.", "kim", "user", "v2",
		"db1", "v1", "unsent", "not sent", "no longer declares this signal", "fettle signal list", "$HUB/v1/signals")
	inOrder(t, read(s, "/signals/schema").Body.String(), "Signal schema", "v2", "v1", "/signals/schema/send", "payload",
		"/signals/schema/clear", "reason")
	if w := read(s, "/signals/none"); w.Code != http.StatusNotFound {
		t.Errorf("an unknown signal: %d", w.Code)
	}
	for path, form := range map[string]url.Values{"/signals/schema/send": {"payload": {"v3"}},
		"/signals/schema/clear": {"reason": {"it was wrong"}}} {
		if status, page := submit(s, path, form); status != http.StatusSeeOther {
			t.Errorf("%s: %d %s", path, status, page)
		}
	}
	got := strings.Join(*changes, " ")
	if !strings.Contains(got, `/v1/signals/schema/send {"payload":"v3"}`) ||
		!strings.Contains(got, `/v1/signals/schema/clear {"reason":"it was wrong"}`) {
		t.Errorf("%q", got)
	}
	s, _ = coordinatedSite(t, "read")
	if page := read(s, "/signals/schema").Body.String(); strings.Contains(page, `class="orders"`) ||
		!strings.Contains(page, "v2") {
		t.Error("a reader sees no payload, or the forms")
	}
}

// TestNoCoordination: without locks, barriers and signals, the pages say so.
func TestNoCoordination(t *testing.T) {
	s := siteOf(t, fakehub.Large{N: 3})
	for path, want := range map[string]string{"/locks": "declares no locks", "/barriers": "declares no barriers",
		"/signals": "declares no signals"} {
		if w := read(s, path); w.Code != 200 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}
