package hub_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/pki"
)

// certificate requests a certificate for a service.
func (s *sharer) certificate(names ...string) (answer fleet.RequestAnswer, serial string, err error) {
	key, err := pki.NewServiceKey()
	if err != nil {
		return answer, "", err
	}
	jobID, err := key.Request()
	if err != nil {
		return answer, "", err
	}
	body, _ := json.Marshal(fleet.Request{What: fleet.RequestCertificate, Names: names, Signing: string(jobID)})
	said, err := s.link.Ask(s.t.Context(), fleet.MessageRequest, body)
	if err == nil {
		err = json.Unmarshal(said, &answer)
	}
	if err != nil || answer.Answer != fleet.RequestDone {
		return answer, "", err
	}
	chain, err := key.ParseChain([]byte(answer.Certificate), names, s.id.Authorities())
	if err != nil {
		s.t.Errorf("it was given %v", err)
		return answer, "", err
	}
	return answer, pki.SerialOf(chain[0]), nil
}

// gets repeats the request until a hub issues the certificate.
func (s *sharer) gets(names ...string) (serial string) {
	s.t.Helper()
	until(s.t, "a certificate", func() (any, bool) {
		_, got, err := s.certificate(names...)
		serial = got
		return err, got != ""
	})
	return serial
}

func (w *world) rule(answer fleet.Verdict, selects, name string) {
	w.t.Helper()
	w.ask("POST", "/v1/requests/policy", document.RequestPolicyChange{What: fleet.RequestCertificate, Answer: answer,
		Select: []string{selects}, Names: []string{name}}, &document.Done{})
}

func (w *world) serviceWorld() {
	w.t.Helper()
	w.commit(map[string]string{"fettle.hcl": "target_group \"web\" { labels = {} }\n"})
	w.birth()
	w.start()
}

func (w *world) certificates() (p document.CertificatePage) {
	w.t.Helper()
	w.ask("GET", "/v1/certificates", nil, &p)
	return p
}

// The policy decides about names, and a target's own name needs approval. After an approval, the
// same names of this target need no further approval.
func TestCertificates(t *testing.T) {
	w := newWorld(t)
	w.serviceWorld()
	web, db := w.sharer("web3", map[string]string{"role": "web"}), w.sharer("db1", map[string]string{"role": "db"})
	web.says(`"here"`)
	db.says(`"here"`)
	if _, _, err := web.certificate("bank.example.org"); err == nil {
		t.Error("what no rule lets it have is given")
	}
	if a, _, err := web.certificate("web3"); err != nil || a.Answer != fleet.RequestPending {
		t.Errorf("its own name: %+v %v", a, err)
	}
	w.rule(fleet.Allow, "label:role=web", "*.web.example.org")
	w.rule(fleet.Hold, "label:role=web", "192.0.2.0/24")
	first := web.gets("shop.web.example.org")
	if second := web.gets("shop.web.example.org"); second == first {
		t.Error("one serial twice")
	}
	if _, _, err := db.certificate("shop.web.example.org"); err == nil {
		t.Error("a rule for others lets it have a name")
	}
	if _, _, err := web.certificate("127.0.0.1"); err == nil {
		t.Error("the hub's address is given")
	}
	both := []string{"192.0.2.9", "shop.web.example.org"}
	if a, _, err := web.certificate(both...); err != nil || a.Answer != fleet.RequestPending {
		t.Errorf("the worst of two names: %+v %v", a, err)
	}
	held := w.pendingRequests()
	if len(held) != 2 || !slices.Equal(held[1].Names, both) {
		t.Errorf("%+v", held)
	}
	w.ask("POST", "/v1/targets/web3/requests/certificate/approve", document.RequestDecision{Name: "192.0.2.9"},
		&document.Done{})
	web.gets(both...)

	// After a restart of the hub, and for requests of other targets.
	w.stop()
	w.start()
	web.gets(both...)
	web.gets("shop.web.example.org")
	if _, _, err := db.certificate(both...); err == nil {
		t.Error("an approval counts for another target")
	}
	if a, _, err := web.certificate("192.0.2.9"); err != nil || a.Answer != fleet.RequestPending {
		t.Errorf("an approval counts for other names: %+v %v", a, err)
	}
	p := w.certificates()
	if len(p.Certificates) != 5 || len(p.Approved) != 1 || p.Approved[0].By != "root" {
		t.Errorf("%+v", p)
	}
	w.inAudit("request certificate 192.0.2.9 shop.web.example.org", "pending")
	w.inAudit("request certificate shop.web.example.org", "begun")

	// A suspect target never gets a certificate at once.
	w.ask("POST", "/v1/targets/web3/suspect", document.ReasonRequest{Reason: "x"}, &document.Done{})
	if a, _, err := web.certificate("shop.web.example.org"); err != nil || a.Answer != fleet.RequestPending {
		t.Errorf("a suspect: %+v %v", a, err)
	}
}

// A hostile agent requests certificates with additional claims, for other names, with its identity
// key, and without end.
func TestCertificatesOfAHostileAgent(t *testing.T) {
	w := newWorld(t)
	w.serviceWorld()
	w.rule(fleet.Allow, "*", "*.example.org")
	bad := w.sharer("bad", nil)
	bad.gets("a.example.org")
	key, _ := pki.NewServiceKey()
	jobID, _ := key.Request()
	ask := func(a fleet.Request) error {
		body, _ := json.Marshal(a)
		_, err := bad.link.Ask(t.Context(), fleet.MessageRequest, body)
		return err
	}
	for _, a := range []fleet.Request{
		{Names: []string{"bank.example.com"}, Signing: string(jobID)},
		{Names: []string{"fettle://acme/hub/hub1"}, Signing: string(jobID)},
		{Names: []string{"*.example.org"}, Signing: string(jobID)},
		{Names: []string{"127.0.0.1"}, Signing: string(jobID)},
		{Names: []string{"b.example.org", "a.example.org"}, Signing: string(jobID)},
		{Names: strings.Split(strings.TrimSpace(strings.Repeat("a.example.org ", 17)), " "), Signing: string(jobID)},
		{Names: []string{"a.example.org"}, Signing: string(jobID) + "x"},
		{Names: []string{"a.example.org"}, Signing: strings.Repeat("x", 1<<16)},
		{Names: []string{"a.example.org"}},
		{Signing: string(jobID)},
	} {
		a.What = fleet.RequestCertificate
		if ask(a) == nil {
			t.Errorf("%v is taken", a.Names)
		}
	}
	if ask(fleet.Request{What: fleet.RequestSuspect, Reason: "x", Names: []string{"a.example.org"},
		Signing: string(jobID)}) == nil {
		t.Error("another ask with names is taken")
	}
	given := 0
	for range 50 {
		if _, serial, err := bad.certificate("a.example.org"); err == nil && serial != "" {
			given++
		}
	}
	if given > 10 {
		t.Errorf("%d certificates at once are given", given)
	}
	if p := w.certificates(); slices.ContainsFunc(p.Certificates,
		func(c document.Certificate) bool { return !slices.Equal(c.Names, []string{"a.example.org"}) }) {
		t.Errorf("%+v", p)
	}
}

// lists fetches the lists as an agent, verifies them, and returns them unchanged.
func (s *sharer) lists() pki.Lists {
	said, err := s.link.Ask(s.t.Context(), fleet.MessageLists, nil)
	var answer fleet.Lists
	if err == nil {
		err = json.Unmarshal(said, &answer)
	}
	if err != nil {
		return nil
	}
	l, err1 := pki.ParseLists([]byte(answer.Lists))
	issuers, err2 := pki.ParseCertificates([]byte(answer.Issuers))
	if err := errors.Join(err1, err2, pki.VerifyLists(l, issuers, s.id.Authorities())); err != nil {
		s.t.Error(err)
	}
	return l
}

// Revoked certificates are in the lists, all agents are asked to fetch the lists, also offline
// ones, and another certificate with the name needs approval, whatever the policy is.
func TestRevokeServices(t *testing.T) {
	w := newWorld(t)
	w.serviceWorld()
	w.rule(fleet.Allow, "*", "*.example.org")
	web, other := w.sharer("web3", nil), w.sharer("other", nil)
	bad, kept := web.gets("bad.example.org"), web.gets("kept.example.org")
	theirs := other.gets("other.example.org")
	asked := make(chan fleet.Job, 10)
	err := other.link.Serve(fleet.MessageJob, func(_ context.Context, body []byte) ([]byte, error) {
		var d fleet.Job
		if err := json.Unmarshal(body, &d); err != nil {
			return nil, err
		}
		asked <- d
		return json.Marshal(fleet.JobAnswer{ID: d.ID})
	})
	if err != nil {
		t.Fatal(err)
	}
	var r document.Job
	w.ask("POST", "/v1/certificates/revoke", document.CertificateRevocation{Serial: bad, Reason: "copied"}, &r)
	if d := <-asked; d.What != fleet.JobFetchRevocations || d.Arg != "hub1/"+bad || d.ID != r.ID {
		t.Errorf("%+v", d)
	}
	until(t, "the acknowledgement", func() (document.Job, bool) {
		w.ask("GET", "/v1/jobs/"+r.ID, nil, &r)
		done := 0
		for _, a := range r.Targets {
			if a.At > 0 {
				done++
			}
		}
		return r, len(r.Targets) == 2 && done == 1 // the other is away
	})
	if l := other.lists(); !l.Has(bad, "hub1") || l.Has(kept, "") || l.Has(theirs, "") {
		t.Errorf("%v", l)
	}
	if a, _, err := web.certificate("bad.example.org"); err != nil || a.Answer != fleet.RequestPending {
		t.Errorf("another of that name: %+v %v", a, err)
	}
	w.inAudit("POST /v1/certificates/revoke", bad)

	// After a restart the same holds, and a user approves the name again.
	w.stop()
	w.start()
	until(t, "the list", func() (pki.Lists, bool) { l := other.lists(); return l, l.Has(bad, "hub1") })
	w.ask("POST", "/v1/targets/web3/requests/certificate/approve", document.RequestDecision{}, &document.Done{})
	again := web.gets("bad.example.org")

	// A retired target has no valid certificates.
	w.ask("POST", "/v1/targets/web3/retire", document.ReasonRequest{}, &document.Done{})
	until(t, "its certificates are forbidden", func() (pki.Lists, bool) {
		l := other.lists()
		return l, l.Has(bad, "") && l.Has(kept, "hub1") && l.Has(again, "hub1") && !l.Has(theirs, "")
	})
	err = socketClient(filepath.Join(w.dir, "hub.sock")).do(t.Context(), "POST", "/v1/certificates/revoke",
		document.CertificateRevocation{Serial: "aa"}, &r)
	if err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("a serial that nobody has: %v", err)
	}
}
