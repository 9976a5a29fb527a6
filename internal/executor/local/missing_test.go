package local_test

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/executor/local"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
)

// finder is a machine that has the programs of /usr/bin only.
type finder struct{ *mem.Host }

func (f finder) Find(name, _ string) error {
	if !strings.HasPrefix(name, "/") {
		name = "/usr/bin/" + name
	}
	if _, err := f.Lstat(name); err != nil {
		return fmt.Errorf("cannot run %q: %w", name, fs.ErrNotExist)
	}
	return nil
}

// place makes a file with all directories above it.
func place(t *testing.T, h *mem.Host, p, text string) {
	t.Helper()
	for i, c := range p {
		if c == '/' && i > 0 {
			_ = h.Mkdir(p[:i], 0o755) // it may exist
		}
	}
	f, err := h.Create(p)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestPlanNamesWhatIsMissing: what a step or an action that runs needs and the host does
// not have is refused in the plan, with the name that may be meant.
func TestPlanNamesWhatIsMissing(t *testing.T) {
	h := mem.New(mem.Options{})
	for path, text := range map[string]string{
		"/usr/bin/newaliases": "", "/etc/systemd/system/nginx.service": "", "/etc/app.conf": "a\n",
		"/etc/passwd": "root:x:0:0::/root:/bin/sh\nalice:x:1000:1000::/home/alice:/bin/sh\n",
		"/etc/group":  "root:x:0:\nalice:x:1000:\ndocker:x:999:\n",
	} {
		place(t, h, path, text)
	}
	x, err := local.New(finder{h}, mem.New(mem.Options{}), local.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	const changed = "EDIT /etc/app.conf line=b\n"
	for list, want := range map[string]string{
		"UNIT ngnix.service active=true\n":                                   `Did you mean "nginx.service"?`,
		"MEMBER alcie docker\n":                                              `Did you mean "alice"?`,
		"MEMBER alice docekr\n":                                              `Did you mean "docker"?`,
		"EXEC x newaliasses\n":                                               `Did you mean "newaliases"?`,
		"EXEC x /usr/bin/newaliasses\n":                                      `Did you mean "/usr/bin/newaliases"?`,
		"EDIT /etc/ap.conf line=b\n":                                         `Did you mean "/etc/app.conf"?`,
		changed + "ACT run x newaliasses on=edit:/etc/app.conf#line:b\n":     `there is no program "newaliasses" on this host`,
		changed + "ACT restart ngnix.service on=edit:/etc/app.conf#line:b\n": `there is no unit "ngnix.service" on this host`,
	} {
		if _, err := x.Plan(t.Context(), request(t, list)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", list, err, want)
		}
	}
	for _, list := range []string{
		"ACT run x newaliasses on=file:/etc/app.conf\n", // does not run
		changed + "ACT run x newaliases on=edit:/etc/app.conf#line:b\n",
		changed + "ACT reload ngnix.service on=edit:/etc/app.conf#line:b\n", // leaves alone what does not run
	} {
		if _, err := x.Plan(t.Context(), request(t, list)); err != nil {
			t.Errorf("%s: %v", list, err)
		}
	}
}

// TestPlanDoubtsTheProgramOfAGuard: a command before may bring it, and the name is close
// to one that the host has.
func TestPlanDoubtsTheProgramOfAGuard(t *testing.T) {
	h := mem.New(mem.Options{Run: func(_ context.Context, _ *mem.Host, c host.Command) (host.CommandResult, error) {
		return host.CommandResult{}, fmt.Errorf("cannot run %q: %w", c.Argv[0], fs.ErrNotExist)
	}})
	place(t, h, "/usr/bin/newaliases", "")
	x, err := local.New(h, mem.New(mem.Options{}), local.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	p, err := x.Plan(t.Context(), request(t, "EXEC make make\nEXEC x newaliases only_if=nwaliases\n"))
	if err != nil || p.Changes[1].Note != `no program "nwaliases" is known; did you mean "newaliases"?` {
		t.Errorf("%v, %+v", err, p)
	}
}
