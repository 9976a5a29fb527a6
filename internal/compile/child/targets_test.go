package child

import (
	"testing"

	"fettle.dev/fettle/internal/lang/query"
)

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
