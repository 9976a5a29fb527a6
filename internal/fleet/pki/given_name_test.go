package pki_test

import (
	"encoding/json"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
)

// A hub cannot give a host a different name than the host chose at its enrolment: neither at once,
// nor with a renewed certificate.
func TestHubThatRenamesAHost(t *testing.T) {
	s := newSite(t, "acme")
	c := s.host()
	i, err := c.Enrol(t.Context(), s.url, s.token(nil), "web1")
	if err != nil {
		t.Fatal(err)
	}
	s.rename(i.ID, "db1")
	if _, err := c.Renew(t.Context(), s.registrar.Revocations); err == nil ||
		!strings.Contains(err.Error(), `cannot accept the name "db1" from a hub: this host enrolled as "web1"`) {
		t.Errorf("renewed: %v", err)
	}
	if kept, err := c.Directory.Load(); err != nil || kept.Name != "web1" {
		t.Errorf("the directory has %+v, %v", kept, err)
	}
	s.rename(i.ID, "web1")
	if _, err := c.Renew(t.Context(), s.registrar.Revocations); err != nil {
		t.Error(err)
	}
}

// rename changes the name of a target in the registry, which no operation of a hub does.
func (s *site) rename(id fleet.TargetID, name string) {
	s.t.Helper()
	e, err := s.targets.Get(s.t.Context(), string(id))
	if err != nil {
		s.t.Fatal(err)
	}
	target := s.target(id)
	target.Name = name
	b, err := json.Marshal(target)
	if err == nil {
		_, err = s.targets.Update(s.t.Context(), string(id), b, e.Rev)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}
