package child

import (
	"testing"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/window"
)

// The windows of a target arrive unchanged, and only if they are valid.
func TestWindowsAreChecked(t *testing.T) {
	nights := window.Window{Name: "nights", Schedule: "0 2 * * *", Seconds: 3600, Zone: "Europe/Berlin", Deny: true}
	read := func(x window.Window) ([]query.Target, error) {
		w := &writer{}
		writeTargets(w, []query.Target{{Name: "a", Windows: []window.Window{x}}, {Name: "b"}})
		r := &reader{b: w.b}
		return readTargets(r), r.end()
	}
	if got, err := read(nights); err != nil || len(got) != 2 || len(got[0].Windows) != 1 || got[0].Windows[0] != nights ||
		got[1].Windows != nil {
		t.Errorf("%+v, %v", got, err)
	}
	nights.Schedule = "0 2"
	if got, err := read(nights); err == nil || got != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

// A target from a child is accepted only if its ssh settings are valid.
func TestTargetsAreChecked(t *testing.T) {
	read := func(list ...query.Target) ([]query.Target, error) {
		w := &writer{}
		writeTargets(w, list)
		r := &reader{b: w.b}
		return readTargets(r), r.end()
	}
	reached := func(way query.SSH) query.Target { return query.Target{Name: "web1", SSH: &way} }
	good := reached(query.SSH{Host: "web1", User: "admin", Port: 22, Sudo: true,
		Options: map[string]string{"ProxyJump": "bastion"}})
	if got, err := read(good, query.Target{Name: "b"}); err != nil || len(got) != 2 ||
		got[0].SSH.Options["ProxyJump"] != "bastion" || got[1].SSH != nil {
		t.Errorf("%+v, %v", got, err)
	}
	for name, bad := range map[string][]query.Target{
		"host": {reached(query.SSH{Host: "-oProxyCommand=id"})}, "no host": {reached(query.SSH{})},
		"user": {reached(query.SSH{Host: "a", User: "-l"})},
		"port": {reached(query.SSH{Host: "a", Port: 70000})}, "twice": {good, good},
		"option": {reached(query.SSH{Host: "a", Options: map[string]string{"ProxyCommand": "id"}})},
	} {
		if got, err := read(bad...); err == nil || got != nil {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// Elements of targets and of their modules arrive unchanged.
func TestElementsOfTargets(t *testing.T) {
	element := query.Element{Block: "web", Key: "a", Value: `{"port":80}`, Range: diag.Range{File: "fettle.hcl"}}
	w := &writer{}
	writeTargets(w, []query.Target{{Name: "a", Element: &element,
		Uses: []query.Use{{Name: `site["a"]`, Element: &element}, {Name: "b"}}}, {Name: "b"}})
	r := &reader{b: w.b}
	got := readTargets(r)
	if err := r.end(); err != nil || len(got) != 2 || got[0].Element == nil || *got[0].Element != element ||
		*got[0].Uses[0].Element != element || got[0].Uses[1].Element != nil || got[1].Element != nil {
		t.Errorf("%+v %v", got, err)
	}
}
