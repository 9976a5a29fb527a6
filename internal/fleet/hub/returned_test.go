package hub_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"fettle.dev/fettle/internal/fleet/document"
)

// The host of a hub is restored from a snapshot that is older than all other hubs. The other hubs
// list it, so it connects to them.
func TestHubThatKnowsNoOtherHub(t *testing.T) {
	if os.Getenv("FETTLE_LONG") == "" {
		t.Skip("it starts five hubs: FETTLE_LONG=1 runs it")
	}
	t.Parallel()
	w := newSeveral(t)
	w.join("hub2")
	old := w.join("hub3")
	w.kept(w.hubs[0], 3)
	old.stop()
	saved := filepath.Join(t.TempDir(), "saved")
	w.copy(old.dir(), saved)
	old.start()
	w.kept(w.hubs[0], 3)
	w.hubs = w.hubs[:2]
	for _, name := range []string{"hub4", "hub5"} {
		api, err := w.joined(name)
		if err != nil {
			t.Fatal(err)
		}
		o := &one{w: w, name: name, api: api}
		w.copy(filepath.Join(w.hubs[0].dir(), "authority"), filepath.Join(o.dir(), "authority"))
		o.start()
		w.hubs = append(w.hubs, o)
		w.kept(o, len(w.hubs)+1)
	}
	for _, name := range []string{"hub1", "hub2"} {
		by := w.hubs[len(w.hubs)-1]
		by.must("POST", "/v1/hubs/"+name+"/retire", document.HubRetirement{Reason: "it was replaced"}, &document.Done{})
		until(t, name+" is retired", func() (document.HubPage, bool) {
			var p document.HubPage
			err := by.ask("GET", "/v1/hubs", nil, &p)
			return p, err == nil && len(p.Hubs) == len(w.hubs) && p.Complete
		})
		<-w.hubs[0].ended
		w.hubs = w.hubs[1:]
	}
	old.stop()
	if err := os.RemoveAll(old.dir()); err != nil {
		t.Fatal(err)
	}
	w.copy(saved, old.dir())
	old.start()
	w.kept(old, 3)
}

// copy copies a directory with the modes of its files.
func (w *several) copy(from, to string) {
	w.t.Helper()
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		w.t.Fatalf("%v: %s", err, out)
	}
}
