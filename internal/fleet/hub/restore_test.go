package hub_test

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub"
	"fettle.dev/fettle/test/sample"
)

// lostNames are the names of the hubs that a hub lists as lost.
func lostNames(p document.HubPage) (names []string) {
	for _, l := range p.Lost {
		names = append(names, l.Name)
	}
	return names
}

// All hubs of a fleet are lost. One is restored on a new host: it serves alone at once, and takes
// over the agents of the other hubs. It lists the other hubs as lost until they are retired. It can
// be restarted, and other hubs can join.
func TestRestoreOneOfSeveral(t *testing.T) {
	sample.Group(t, 1, 9)
	t.Parallel()
	w := newSeveral(t)
	w.join("hub2")
	w.kept(w.hubs[0], 2)
	var tok document.NewToken
	w.hubs[0].must("POST", "/v1/tokens", document.TokenRequest{Labels: map[string]string{"role": "web"}, Uses: 5}, &tok)
	w.api = w.hubs[1].api
	id, link := w.agent("web1", tok.Secret)
	had := w.assigned(id, link, fleet.Assignment{})
	_ = link.Close()

	restored := w.hubs[0]
	var saved bytes.Buffer
	var state document.HubState
	restored.must("POST", "/v1/backup", document.ReasonRequest{}, &state)
	if err := hub.WriteBackup(w.host, restored.dir(), state, &saved); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(saved.String(), `"hubs.json"`) || strings.Contains(saved.String(), `"audit.log"`) {
		t.Error("the backup has a file that the restored hub must not have")
	}
	for _, o := range w.hubs {
		o.stop()
		if err := os.RemoveAll(o.dir()); err != nil {
			t.Fatal(err)
		}
	}
	w.hubs = w.hubs[:1]

	if _, err := hub.Restore(w.host, restored.dir(), &saved); err != nil {
		t.Fatal(err)
	}
	restored.start() // at most a minute
	var p document.HubPage
	restored.must("GET", "/v1/hubs", nil, &p)
	if len(p.Hubs) != 1 || p.Hubs[0].Name != "hub1" || !slices.Equal(lostNames(p), []string{"hub2"}) {
		t.Errorf("%+v", p)
	}
	w.api = restored.api
	id.BusURLs = p.Hubs[0].BusURLs
	link, err := bus.Dial(t.Context(), bus.LinkConfig{ID: id.ID, URLs: id.BusURLs, TLS: idTLS(id)})
	if err != nil {
		t.Fatal(err)
	}
	if again := w.assigned(id, link, fleet.Assignment{}); again.Epoch <= had.Epoch {
		t.Errorf("epoch %d after %d", again.Epoch, had.Epoch)
	}
	_ = link.Close()

	// The name of a lost hub is not used again.
	if _, err := w.joined("hub2"); err == nil || !strings.Contains(err.Error(), "a lost hub has that name") {
		t.Errorf("a lost hub joins: %v", err)
	}
	restored.must("POST", "/v1/hubs/hub2/retire", document.HubRetirement{Reason: "its machine burnt"}, &document.Done{})
	restored.stop()
	restored.start()
	until(t, "no hub is lost or leaves", func() (document.HubPage, bool) {
		var p document.HubPage
		err := restored.ask("GET", "/v1/hubs", nil, &p)
		return p, err == nil && len(p.Hubs) == 1 && p.Hubs[0].Leader && len(lostNames(p)) == 0
	})
	until(t, "hub2 stays out", func() (error, bool) {
		_, err := w.joined("hub2")
		return err, err != nil && strings.Contains(err.Error(), "was retired")
	})
	w.join("hub3")
	w.kept(restored, 2)
}

// A backup of an older version contains the hubs that its hub knew. It can be restored too.
func TestRestoreOlderBackup(t *testing.T) {
	w := newWorld(t)
	w.birth()
	dir := w.dir + "/hub"
	w.start()
	var state document.HubState
	w.ask("POST", "/v1/backup", document.ReasonRequest{}, &state)
	w.stop()
	state.Buckets["settings"]["member/hub2"] = `{"name":"hub2","hubs":["https://192.0.2.9:7440"],"buses":["tls://192.0.2.9:7441"],"cluster":["192.0.2.9:7442"],"joined":1}`
	var saved bytes.Buffer
	if err := hub.WriteBackup(w.host, dir, state, &saved); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	circle := `"hubs.json":{"data":"eyJmb3JtYXQiOiJmZXR0bGUuY2lyY2xlLzEiLCJtZW1iZXJzIjpbeyJuYW1lIjoiaHViMSJ9LHsibmFtZSI6Imh1YjIifV19"},` // hub1 and hub2
	text := strings.Replace(saved.String(), `"files":{`, `"files":{`+circle, 1)
	if _, err := hub.Restore(w.host, dir, strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	w.start()
	t.Logf("it serves after %s", time.Since(began).Round(time.Millisecond))
	var p document.HubPage
	w.ask("GET", "/v1/hubs", nil, &p)
	if len(p.Hubs) != 1 || !slices.Equal(lostNames(p), []string{"hub2"}) {
		t.Errorf("%+v", p)
	}
}
