package plan

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
)

// needed is the error of a step that needs an object.
type needed struct{ need addr.Addr }

func (e needed) Error() string    { return "there is no " + e.need.Name() }
func (e needed) Needs() addr.Addr { return e.need }

// onHost makes the maker one of a host with these names, of whatever kind is needed.
func (m *maker) onHost(names ...string) *maker {
	m.in.Names = func(addr.Addr) []string { return names }
	return m
}

// TestSuggestedNames: an error about a missing object suggests the most similar name in the form that a
// user writes. Shorter names allow fewer edits.
func TestSuggestedNames(t *testing.T) {
	for what, c := range map[string]struct {
		need  addr.Addr
		names []string
		want  string
	}{
		"a similar user":               {"user:alcie", []string{"alice"}, "alice"},
		"the most similar":             {"user:alcie", []string{"malic", "alice"}, "alice"},
		"another user":                 {"user:alcie", []string{"robert"}, ""},
		"no names":                     {"user:alcie", nil, ""},
		"a short name, one edit":       {"user:bob", []string{"bog"}, "bog"},
		"a short name, two edits":      {"user:bob", []string{"bags"}, ""},
		"nine letters, three edits":    {"user:webserver", []string{"websevver1x"}, "websevver1x"},
		"a long name, three edits":     {"user:webserver-main", []string{"webserver-in-x"}, ""},
		"a unit":                       {"unit:ngnix.service", []string{"nginx.service"}, "nginx.service"},
		"a unit of another type":       {"unit:ngnix.service", []string{"nginx.timer"}, ""},
		"an instance":                  {"unit:getyt@tty1.service", []string{"getty@.service"}, "getty@tty1.service"},
		"an instance, and no template": {"unit:getyt@tty1.service", []string{"getty.service"}, ""},
		"a unit, and a template":       {"unit:getyt.service", []string{"getty@.service"}, ""},
		"a path":                       {"file:/etc/app.confg", []string{"app.config"}, "/etc/app.config"},
	} {
		want := ""
		if c.want != "" {
			want = `Did you mean "` + c.want + `"?`
		}
		err := planner().onHost(c.names...).providers.suggested(needed{c.need})
		if got := strings.TrimPrefix(err.Error(), needed{c.need}.Error()); strings.TrimPrefix(got, ". ") != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
		if !errors.Is(err, needed{c.need}) {
			t.Errorf("%s: the cause is lost: %v", what, err)
		}
	}
}

// TestSuggestedNamesOfSeveralErrors: each of several joined errors has its own suggestion, and an error
// that is not about a missing object has none.
func TestSuggestedNamesOfSeveralErrors(t *testing.T) {
	m := planner().onHost("alice", "nginx.service")
	err := m.providers.suggested(errors.Join(needed{"user:alcie"}, errors.New("the disk is full"),
		needed{"unit:ngnix.service"}))
	want := "there is no alcie. Did you mean \"alice\"?\nthe disk is full\n" +
		"there is no ngnix.service. Did you mean \"nginx.service\"?"
	if err.Error() != want {
		t.Errorf("%q", err)
	}
}

// TestSuggestedNamesOfTheList: objects that the list creates are suggested like objects of the host. A
// package is suggested for its service and its program.
func TestSuggestedNamesOfTheList(t *testing.T) {
	for what, c := range map[string]struct {
		step string
		need addr.Addr
		want string
	}{
		"a user":                        {"USER alice", "user:alcie", "alice"},
		"a user that goes":              {"USER alice ensure=absent", "user:alcie", ""},
		"the group of a user":           {"USER alice", "group:alcie", "alice"},
		"a user of another group":       {"USER alice group=www", "group:alcie", ""},
		"a user is not a unit":          {"USER alice", "unit:alcie.service", ""},
		"the service of a package":      {"PKG nginx", "unit:ngnix.service", "nginx.service"},
		"the timer of a package":        {"PKG nginx", "unit:ngnix.timer", ""},
		"a program of a package":        {"PKG nginx", "program:ngnix", "nginx"},
		"a package for an architecture": {"PKG nginx:amd64", "program:ngnix", "nginx"},
		"a package is not a user":       {"PKG nginx", "user:ngnix", ""},
		"a unit file": {"LINK /x /etc/systemd/system/nginx.service", "unit:ngnix.service",
			"nginx.service"},
		"a unit file elsewhere":           {"LINK /x /srv/nginx.service", "unit:ngnix.service", ""},
		"a unit is not made by its state": {"UNIT nginx.service active=true", "unit:ngnix.service", ""},
		"a program":                       {"LINK /x /usr/bin/nginx", "program:ngnix", "nginx"},
		"a program elsewhere":             {"LINK /x /srv/nginx", "program:ngnix", ""},
		"a file":                          {"LINK /x /srv/nginx", "file:/srv/ngnix", "/srv/nginx"},
		"a file elsewhere":                {"LINK /x /opt/nginx", "file:/srv/ngnix", ""},
	} {
		near := planner(c.step).providers.nearest(c.need, 3)
		if near != c.want {
			t.Errorf("%s: %q, want %q", what, near, c.want)
		}
	}
}

// TestMistypedNames: a name is probably mistyped if it is similar to a known name, is not short, and
// differs in more than a number.
func TestMistypedNames(t *testing.T) {
	for what, c := range map[string]struct {
		need  addr.Addr
		names []string
		want  string
	}{
		"one edit":             {"user:alicf", []string{"alice"}, "alice"},
		"two edits":            {"user:aliff", []string{"alice"}, ""},
		"eight letters":        {"user:websevre", []string{"webserve"}, "webserve"},
		"eight, two edits":     {"user:wexsevve", []string{"webserve"}, "webserve"},
		"eight, three edits":   {"user:wexsevvx", []string{"webserve"}, ""},
		"seven letters":        {"user:webssvr", []string{"webervr"}, ""},
		"three letters":        {"user:bog", []string{"bob"}, ""},
		"four letters":         {"user:bobx", []string{"boby"}, "boby"},
		"another number":       {"user:node12", []string{"node13"}, ""},
		"another letter":       {"user:nodea", []string{"nodeb"}, "nodeb"},
		"a known name":         {"user:alicf", []string{"alice", "alicf"}, ""},
		"nothing is known":     {"user:alicf", nil, ""},
		"a unit of that name":  {"unit:cronn.service", []string{"cron.service"}, "cron.service"},
		"another unit number":  {"unit:disk1.mount", []string{"disk2.mount"}, ""},
		"no similar name here": {"user:alicf", []string{"robert"}, ""},
	} {
		if got := planner().onHost(c.names...).providers.mistyped(c.need); got != c.want {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
}

// TestDoubts: a change that may provide a missing object is doubted if the name is similar to a known
// name, or if an installed version of the package does not contain the object.
func TestDoubts(t *testing.T) {
	pkg := func(from *image.Image) Change {
		return Change{Action: Update, Addr: "pkg:web", Step: parse("PKG web"), From: from, To: packageIs("2", "ii")}
	}
	const known = `no program "pyton3" is known; did you mean "python3"?`
	const version = "version 1 of web, which is installed, does not provide the program pyton3"
	for what, c := range map[string]struct {
		change Change
		names  []string
		want   string
	}{
		"no change":             {Change{}, []string{"python3"}, ""},
		"a new package":         {pkg(packageIs("", "")), nil, ""},
		"a new package, a typo": {pkg(packageIs("", "")), []string{"python3"}, known},
		"a newer package":       {pkg(packageIs("1", "ii")), nil, version},
		"both":                  {pkg(packageIs("1", "ii")), []string{"python3"}, version + "; " + known},
		"an unknown package":    {pkg(nil), []string{"python3"}, known},
		"the program itself": {Change{Action: Create, Addr: "file:/usr/bin/pyton3", Step: parse("LINK /x /usr/bin/pyton3"),
			To: pathOf(image.Regular)}, []string{"python3"}, ""},
	} {
		m := planner().onHost(c.names...)
		if c.change.Action != "" {
			m.p.Changes = []Change{c.change}
		}
		if got := m.providers.doubt(needed{"program:pyton3"}); got != c.want {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
	if got := planner().providers.doubt(errors.New("the disk is full")); got != "" {
		t.Errorf("another error: %q", got)
	}
}

// TestLackedObjects: all objects that joined errors miss are found.
func TestLackedObjects(t *testing.T) {
	err := errors.Join(needed{"user:a"}, errors.New("x"), errors.Join(needed{"group:b"}))
	if got := lacked(err); !slices.Equal(got, []addr.Addr{"user:a", "group:b"}) {
		t.Errorf("%v", got)
	}
	if got := lacked(nil); got != nil {
		t.Errorf("without an error: %v", got)
	}
}
