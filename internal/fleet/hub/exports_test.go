package hub_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/exported"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/test/sample"
)

// sharer is an agent that only exports values, and stores its assignments.
type sharer struct {
	t    *testing.T
	id   *pki.Identity
	link *bus.Link
	// pushed contains the received assignments.
	pushed chan []byte
}

func (w *world) sharer(name string, labels map[string]string) *sharer {
	w.t.Helper()
	var tok document.NewToken
	w.ask("POST", "/v1/tokens", document.TokenRequest{Labels: labels, Uses: 1}, &tok)
	s := &sharer{t: w.t, pushed: make(chan []byte, 100)}
	s.id, s.link = w.agent(name, tok.Secret)
	err := s.link.Serve(fleet.MessageAssigned, func(_ context.Context, body []byte) ([]byte, error) { s.pushed <- body; return nil, nil })
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (s *sharer) export(values ...exported.Own) error {
	body, err := json.Marshal(fleet.Exports{Values: values})
	if err != nil {
		return err
	}
	_, err = s.link.Ask(s.t.Context(), fleet.MessageExports, body)
	return err
}

func (s *sharer) says(text string) {
	s.t.Helper()
	until(s.t, "to be heard", func() (error, bool) {
		err := s.export(exported.Own{Module: "modules/web", Output: "address", Value: text})
		return err, err == nil
	})
}

// given returns the exported values in its newest assignment.
func (s *sharer) given() (text string, generation uint64) {
	have, _ := json.Marshal(fleet.Have{})
	envelope, err := s.link.Ask(s.t.Context(), fleet.MessageAssignment, have)
	if err != nil || len(envelope) == 0 {
		return "none", 0
	}
	a, err := fleet.OpenAssignment(envelope, s.id.Keys(nil, time.Now(), time.Time{}))
	if err != nil {
		s.t.Fatal(err)
	}
	var out []string
	for _, t := range a.Exported {
		for _, v := range t.Values {
			out = append(out, v.Key()+"="+string(v.Value))
		}
	}
	return strings.Join(out, " "), a.Generation
}

func (s *sharer) wants(text string) uint64 {
	s.t.Helper()
	generation := uint64(0)
	until(s.t, text, func() (string, bool) {
		got, g := s.given()
		generation = g
		return got, got == text
	})
	return generation
}

// Exported values reach exactly the targets that use them. Values in the name of other targets have
// no effect, and values of retired targets disappear.
func TestExportedValues(t *testing.T) {
	sample.Group(t, 3, 11)
	t.Parallel()
	w := newWorld(t)
	w.commit(map[string]string{
		"fettle.hcl":             "target_group \"web\" {\n  labels = { role = \"web\" }\n  modules = [\"web\"]\n}\ntarget_group \"lb\" {\n  labels = { role = \"lb\" }\n  modules = [\"lb\"]\n}\n",
		"modules/web/module.hcl": "output \"address\" {\n  value    = \"10.0.0.1\"\n  type     = string\n  exported = true\n}\n",
		"modules/lb/module.hcl":  "exported \"address\" {\n  module = \"web\"\n  labels = { role = \"web\" }\n}\nfile \"/etc/lb\" { content = join(\" \", values(exported.address)) }\n",
	})
	w.birth()
	w.start()
	web1, web2, lb := w.sharer("web1", map[string]string{"role": "web"}), w.sharer("web2", map[string]string{"role": "web"}), w.sharer("lb1", map[string]string{"role": "lb"})
	first := lb.wants("")
	web1.says(`"10.0.0.1"`)
	lb.wants(`web1="10.0.0.1"`)
	web2.says(`"10.0.0.2"`)
	lb.says(`"10.9.9.9"`) // it has no such module
	if n := lb.wants(`web1="10.0.0.1" web2="10.0.0.2"`); n > first+2 {
		t.Errorf("%d generations for two values", n-first)
	}
	if text, generation := web1.given(); text != "" || generation != 1 {
		t.Errorf("who uses nothing has %q, generation %d", text, generation)
	}

	// A hub that restarts still has them.
	w.stop()
	w.start()
	until(t, "they are back", func() (error, bool) {
		err := web2.export(exported.Own{Module: "modules/web", Output: "address", Value: `"10.0.0.2"`})
		return err, err == nil
	})
	lb.wants(`web1="10.0.0.1" web2="10.0.0.2"`)

	var all document.Exports
	w.ask("GET", "/v1/exports", nil, &all)
	if len(all.Exports) != 3 || all.Exports[1].Target != "web1" || all.Exports[1].Value != `"10.0.0.1"` {
		t.Errorf("%+v", all)
	}
	w.ask("POST", "/v1/targets/web1/retire", document.ReasonRequest{}, &document.Done{})
	lb.wants(`web2="10.0.0.2"`)
	until(t, "what is kept", func() (document.Exports, bool) {
		w.ask("GET", "/v1/exports", nil, &all)
		return all, !slices.ContainsFunc(all.Exports, func(e document.Export) bool { return e.Target == "web1" })
	})
}

// A hostile agent exports too much: invalid values are refused, and valid ones are limited.
func TestExportsOfAHostileAgent(t *testing.T) {
	w := newWorld(t)
	w.commit(map[string]string{"fettle.hcl": "target_group \"web\" {\n  labels = {}\n}\n"})
	w.birth()
	w.start()
	bad := w.sharer("bad", nil)
	one := func(i int) exported.Own {
		return exported.Own{Module: "modules/web", Output: "address", Value: fmt.Sprint(i)}
	}
	until(t, "it is known", func() (error, bool) { err := bad.export(one(0)); return err, err == nil })
	var many []exported.Own
	for i := range exported.MaxOwn + 1 {
		many = append(many, exported.Own{Module: "modules/web", Output: fmt.Sprint(i), Value: "1"})
	}
	for what, values := range map[string][]exported.Own{
		"too many":  many,
		"too large": {{Module: "m", Output: "o", Value: `"` + strings.Repeat("x", exported.MaxValue) + `"`}},
		"no JSON":   {{Module: "m", Output: "o", Value: "{"}},
		"nameless":  {{Value: "1"}},
		"twice":     {one(1), one(2)},
	} {
		if bad.export(values...) == nil {
			t.Errorf("%s is taken", what)
		}
	}
	for _, body := range []string{"", "[]", `{"values":[],"target":"other"}`, strings.Repeat(" ", 1<<18)} {
		if _, err := bad.link.Ask(t.Context(), fleet.MessageExports, []byte(body)); err == nil {
			t.Errorf("%.40q is taken", body)
		}
	}
	taken := 0
	for i := range 100 {
		if bad.export(one(i+10)) == nil {
			taken++
		}
	}
	if taken > 15 {
		t.Errorf("%d changes at once are taken", taken)
	}
	var p document.EventPage
	w.ask("GET", "/v1/events", nil, &p)
	told := 0
	for _, e := range p.Events {
		if e.Kind == "exported" && e.Error != "" {
			told++
		}
	}
	if told != 1 {
		t.Errorf("it is told %d times", told)
	}
}
