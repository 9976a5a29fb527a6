package apply_test

import (
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/journal"
)

// parted is a list of three parts, of which the first fails in its middle, the second
// needs it, and the third has nothing to do with either.
const parted = `COPY a /etc/app.conf
ACT run load /usr/bin/load on=file:/etc/app.conf
COPY bad /etc/checked validate="check %s"
COPY rest /srv/rest
COPY behind /srv/behind
COPY aside /srv/aside
ACT run other /usr/bin/load on=file:/srv/aside
CHECK gone file=/srv/rest within=1ms
CHECK there file=/srv/aside within=1ms
`

// TestSections: what fails ends its own part and what is behind it; the rest is done, with its
// actions and checks.
func TestSections(t *testing.T) {
	parts := []executor.Section{
		{Name: "modules/app", Addrs: []addr.Addr{"file:/etc/app.conf", "act:run/load", "file:/etc/checked",
			"file:/srv/rest", "check:gone"}, Dependents: []addr.Addr{"file:/srv/behind"}},
		{Name: "modules/behind", Addrs: []addr.Addr{"file:/srv/behind"}},
		{Name: "modules/aside", Addrs: []addr.Addr{"file:/srv/aside", "act:run/other", "check:there"}},
	}
	w := newWorld(t)
	rep, err := w.apply(t, parted, executor.Options{Sections: parts})
	if err == nil || rep.Outcome != journal.Failed || rep.Failed == nil || rep.Failed.Addr != "file:/etc/checked" ||
		!rep.InPart() || !strings.Contains(err.Error(), "only partly done") {
		t.Fatalf("%v, %+v", err, rep)
	}
	says(t, rep, "modules/app failed; states that do not depend on it continue")
	if got := strs(rep.Remaining); !slices.Equal(got, []string{"file:/srv/rest", "file:/srv/behind", "check:gone"}) {
		t.Errorf("not reached: %q", got)
	}
	if len(rep.Checks) != 1 || !rep.Checks[0].OK {
		t.Errorf("checks: %+v", rep.Checks)
	}
	w.holds(t, "/srv/aside", "aside")
	if got := w.applied(t); !slices.Equal(got, []addr.Addr{"file:/etc/app.conf", "file:/srv/aside"}) {
		t.Errorf("applied is %q", got)
	}
	if rep, err = w.apply(t, strings.Replace(parted, "COPY bad", "COPY good", 1),
		executor.Options{Sections: parts}); err != nil || len(rep.Remaining) > 0 {
		t.Errorf("%v, %+v", err, rep)
	}
	w.holds(t, "/srv/behind", "behind")

	// A run that is undone is undone whole, whatever its parts.
	w = newWorld(t)
	before := w.picture(t, true)
	if rep, err := w.apply(t, parted, executor.Options{Sections: parts, OnFailure: "undo"}); err == nil ||
		rep.Outcome != journal.RolledBack {
		t.Errorf("%v, %+v", err, rep)
	}
	if bad := w.picture(t, true).differs(false, before); len(bad) > 0 {
		t.Error(strings.Join(bad, "\n"))
	}

	// Without parts the first failure ends it.
	w = newWorld(t)
	if _, err := w.apply(t, parted, executor.Options{}); err == nil {
		t.Error("it went well")
	}
	if there, _ := host.Exists(w.h, "/srv/aside"); there {
		t.Error("it went on")
	}
}
