package local_test

import (
	"context"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/executor"
)

const (
	langBefore = "EDIT /etc/default/locale key=LANG value=nl_NL.UTF-8 create=true\nCOPY 1 /t/x\n"
	langAfter  = "EDIT /etc/locale.conf key=LANG value=nl_NL.UTF-8 create=true\nCOPY 1 /t/x\n"
	langOther  = "EDIT /etc/locale.conf key=LANG value=de_DE.UTF-8 create=true\nCOPY 2 /t/x\n"
)

// newUpgraded is a host whose locale fettle set before the system moved the file.
func newUpgraded(t *testing.T, text string) *world {
	w := newWorld(t)
	w.mkdirs("/t")
	w.mkdirs("/etc/default")
	if text != "" {
		w.write("/etc/default/locale", text)
	}
	w.applies(langBefore, nil)
	w.must(w.aside.Rename("/etc/default/locale", "/etc/locale.conf"))
	w.must(w.aside.Symlink("../locale.conf", "/etc/default/locale"))
	return w
}

func (w *world) noChanges(list string) {
	w.t.Helper()
	p, err := w.x.Plan(context.Background(), request(w.t, list))
	w.must(err)
	if len(p.Changes) > 0 {
		w.t.Fatalf("planned: %s", actions(p))
	}
}

// TestMovedFile: what was edited in a file that a release of Debian has moved goes on at
// the new place: a plan has no changes, and removal and rollbacks find what was there
// before.
func TestMovedFile(t *testing.T) {
	for name, then := range map[string]func(w *world){
		"new list": func(w *world) {
			w.noChanges(langAfter)
			w.applies(langAfter, nil)
			w.noChanges(langAfter)
			w.applies("COPY 1 /t/x\n", nil)
		},
		"removed at once": func(w *world) { w.applies("COPY 1 /t/x\n", nil) },
		"origin at once":  func(w *world) { w.goBack(0) },
		"other value, then origin": func(w *world) {
			w.applies(langOther, nil)
			w.holds("/etc/locale.conf", "\nLANG=de_DE.UTF-8")
			w.goBack(0)
		},
		"back to the old release's run": func(w *world) {
			w.applies(langOther, nil)
			w.goBack(1)
			w.holds("/etc/locale.conf", "\nLANG=nl_NL.UTF-8")
			w.noChanges(langAfter)
			w.goBack(0)
		},
		"both paths applied": func(w *world) {
			w.must(w.aside.Remove("/etc/default/locale"))
			w.write("/etc/default/locale", "LANG=nl_NL.UTF-8\n")
			w.applies(langBefore+"EDIT /etc/locale.conf key=LANG value=nl_NL.UTF-8 create=true\n", nil)
			w.must(w.aside.Remove("/etc/default/locale"))
			w.must(w.aside.Symlink("../locale.conf", "/etc/default/locale"))
			w.noChanges(langAfter)
			w.applies(langAfter, nil)
			w.goBack(0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newUpgraded(t, "LANG=C.UTF-8\n")
			d, err := w.x.Drift(context.Background(), executor.DriftOptions{})
			w.must(err)
			if len(d.Changes) > 0 {
				t.Errorf("drift: %s", actions(d))
			}
			then(w)
			w.holds("/etc/locale.conf", "\nLANG=C.UTF-8")
			if to, err := w.aside.Readlink("/etc/default/locale"); err != nil || to != "../locale.conf" {
				t.Errorf("the link: %q %v", to, err)
			}
		})
	}
}

// TestMovedFileThatFettleMade: a file that exists only because of fettle goes, the link
// of the system stays.
func TestMovedFileThatFettleMade(t *testing.T) {
	w := newUpgraded(t, "")
	w.goBack(0)
	s := w.look()
	if _, there := s["/etc/locale.conf"]; there {
		t.Error("the file stays")
	}
	if !strings.HasPrefix(s["/etc/default/locale"], "link") {
		t.Errorf("the link: %s", s["/etc/default/locale"])
	}
}

// TestMovedElsewhere: a link to any other file is not followed.
func TestMovedElsewhere(t *testing.T) {
	w := newUpgraded(t, "LANG=C.UTF-8\n")
	w.must(w.aside.Remove("/etc/default/locale"))
	w.must(w.aside.Symlink("../shadow", "/etc/default/locale"))
	w.applies("COPY 1 /t/x\n", executor.ErrBlocked)
	w.holds("/etc/locale.conf", "\nLANG=nl_NL.UTF-8")
}
