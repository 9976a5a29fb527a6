package hub_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub"
	"fettle.dev/fettle/test/port"
	"fettle.dev/fettle/test/sample"
)

func overOthers(o *bustest.Others) hub.NatsSettings {
	return hub.NatsSettings{URLs: o.URLs(), Login: []byte("fettle:" + bustest.Password), Replicas: min(3, len(o.URLs()))}
}

func (w *several) module(text string) {
	w.commit(map[string]string{"modules/web/module.hcl": "file \"/etc/motd\" {\n  content = \"" + text + "\"\n}\n"})
}

// Two hubs of one fleet store their data in an external NATS cluster: either serves agents, another
// hub leads after a failure, and the whole cluster may be down for a while. One hub is retired, and
// the other continues.
func TestHubsOfNats(t *testing.T) {
	sample.Group(t, 2, 10)
	t.Parallel()
	others := bustest.NewOthers(t, 3, port.Reserve)
	w := newSeveralOver(t, overOthers(others))
	var tok document.NewToken
	w.hubs[0].must("POST", "/v1/tokens", document.TokenRequest{Labels: map[string]string{"role": "web"}, Uses: 5}, &tok)
	w.api = w.hubs[0].api
	id1, link1 := w.agent("web1", tok.Secret)
	one := w.assigned(id1, link1, fleet.Assignment{})

	w.join("hub2")
	p := until(t, "both are there", func() (document.HubPage, bool) {
		var p document.HubPage
		err := w.hubs[0].ask("GET", "/v1/hubs", nil, &p)
		return p, err == nil && p.Nats && len(p.Hubs) == 2 && p.Copies == 3 && p.Complete && p.ToleratedFailures == 1 &&
			p.Hubs[0].Reachable && p.Hubs[1].Reachable
	})
	t.Logf("%+v", p)
	w.api = w.hubs[1].api
	id2, link2 := w.agent("web2", tok.Secret)
	if len(id2.HubURLs) != 2 || len(id2.BusURLs) != 2 {
		t.Errorf("a new target knows %v and %v", id2.HubURLs, id2.BusURLs)
	}
	two := w.assigned(id2, link2, fleet.Assignment{})
	for _, o := range w.hubs {
		until(t, o.name+" knows who is connected", func() (document.TargetDetail, bool) {
			var d1, d2 document.TargetDetail
			err := errors.Join(o.ask("GET", "/v1/targets/web1", nil, &d1), o.ask("GET", "/v1/targets/web2", nil, &d2))
			return d2, err == nil && d1.Target.Connected && d2.Target.Connected
		})
	}
	// The whole cluster stops, and a commit is made meanwhile.
	others.StopAll()
	w.module("two")
	others.StartAll()
	one2 := w.assigned(id1, link1, one)
	two = w.assigned(id2, link2, two)
	if one2.Modules[0].Bundle != two.Modules[0].Bundle {
		t.Errorf("%v and %v", one2.Modules, two.Modules)
	}
	// A server that was down soon has the same data as the other servers, and so has a hub that
	// follows it: a hub with the content also has the assignment.
	for _, o := range w.hubs {
		until(t, o.name+" has the content", func() (string, bool) {
			return two.Modules[0].Bundle.Digest, w.has(o, two.Modules[0].Bundle)
		})
	}
	// The leader stops while a commit is assigned, and starts again.
	leader := w.leader()
	staying, link, than := w.hubs[0], link1, one2
	id := id1
	if leader == staying {
		staying, link, than, id = w.hubs[1], link2, two, id2
	}
	leader.stop()
	w.module("three")
	w.assigned(id, link, than)
	t.Log(staying.name, "leads after", leader.name)
	leader.start()

	w.hubs[0].must("POST", "/v1/hubs/hub2/retire", document.ReasonRequest{}, &document.Done{})
	select {
	case err := <-w.hubs[1].ended:
		if !errors.Is(err, hub.ErrRetired) {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the retired hub does not stop", w.hubs[1].warn)
	}
	until(t, "one is alone", func() (document.HubPage, bool) {
		var p document.HubPage
		err := w.hubs[0].ask("GET", "/v1/hubs", nil, &p)
		return p, err == nil && len(p.Hubs) == 1 && p.ToleratedFailures == 0 && p.Hubs[0].Leader
	})
}

// The files for the cluster are readable only by their owner, and the settings contain no secret. A
// lost directory is restored from an old backup and keeps the newer data of the cluster. A cluster
// that lost all data gets the data of the backup. The directory of another fleet with the same name
// is refused.
func TestBackupOfNats(t *testing.T) {
	// Before hubs that stop have ports that are free.
	others, lost := bustest.NewOthers(t, 1, port.Reserve), bustest.NewOthers(t, 1, port.Reserve)
	w := newSeveralOver(t, overOthers(others))
	o := w.hubs[0]
	for _, name := range []string{"nats.key", "nats.creds"} {
		if st, err := os.Stat(filepath.Join(o.dir(), name)); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, st.Mode(), err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(o.dir(), "hub.json")); err != nil ||
		bytes.Contains(text, []byte(bustest.Password)) {
		t.Errorf("%s, %v", text, err)
	}
	user := func(name string) {
		o.must("POST", "/v1/users", document.UserRequest{Name: name, Roles: []string{"read"}}, &document.Done{})
	}
	users := func() (names []string) {
		var all document.UserPage
		o.must("GET", "/v1/users", nil, &all)
		for _, p := range all.Users {
			names = append(names, p.Name)
		}
		return names
	}
	user("ann")
	var state document.HubState
	o.must("POST", "/v1/backup", document.ReasonRequest{}, &state)
	var saved bytes.Buffer
	if err := hub.WriteBackup(w.host, o.dir(), state, &saved); err != nil {
		t.Fatal(err)
	}
	user("bob")
	o.stop()
	restore := func() {
		t.Helper()
		if err := os.RemoveAll(o.dir()); err != nil {
			t.Fatal(err)
		}
		if _, err := hub.Restore(w.host, o.dir(), bytes.NewReader(saved.Bytes())); err != nil {
			t.Fatal(err)
		}
	}
	restore()
	o.start()
	if got := users(); strings.Join(got, " ") != "ann bob" {
		t.Errorf("after the directory was restored there are %v", got)
	}
	o.stop()

	restore()
	if err := hub.UseNats(w.host, o.dir(), overOthers(lost), false); err != nil {
		t.Fatal(err)
	}
	o.start()
	if got := users(); strings.Join(got, " ") != "ann" {
		t.Errorf("after all was restored there are %v", got)
	}
	b, _ := w.settings("usurper")
	b.Fleet = "acme"
	if _, err := hub.Init(b); err != nil {
		t.Fatal(err)
	}
	err := hub.Run(t.Context(), hub.Config{Files: w.host, Dir: b.Dir, Compile: compiler{}, Now: time.Now})
	if err == nil || !strings.Contains(err.Error(), "belong to another fleet") {
		t.Errorf("another fleet of the same name: %v", err)
	}
}

// A hub that stores its data itself cannot move to a cluster with a flag. Wrong flags are refused
// before anything is created, and the error contains no password.
func TestNatsRefused(t *testing.T) {
	w := newSeveral(t)
	if err := hub.UseNats(w.host, w.hubs[0].dir(), hub.NatsSettings{URLs: []string{"tls://a:4222"}},
		false); !errors.Is(err, hub.ErrNoNats) {
		t.Error(err)
	}
	for want, g := range map[string]hub.NatsSettings{
		"in the address":    {URLs: []string{"tls://me:hidden@a:4222"}},
		"without TLS":       {URLs: []string{"nats://nats.example.org:4222"}},
		"it must be tls://": {URLs: []string{"https://hidden"}},
		"1, 3 or 5":         {URLs: []string{"tls://a"}, Replicas: 2},
		"the credentials":   {URLs: []string{"tls://a"}, Login: []byte("hidden")},
		"and its key": {URLs: []string{"tls://a"},
			Login: []byte("-----BEGIN PRIVATE KEY-----\nhidden\n-----END PRIVATE KEY-----\n")},
		"they must be PEM":    {URLs: []string{"tls://a"}, CA: []byte("hidden")},
		"without an address":  {Replicas: 3},
		"USER:PASSWORD into ": {URLs: []string{"nats://hidden@localhost"}},
	} {
		b, _ := w.settings("x" + strings.ToLower(want[:2]))
		b.Fleet, b.NatsSettings = "acme", g
		_, err := hub.Init(b)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%q: %v", want, err)
		}
		if _, err := os.Stat(filepath.Join(b.Dir, "hub.json")); err == nil {
			t.Errorf("%q: there is a hub", want)
		}
	}
}
