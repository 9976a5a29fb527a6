package account

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"fettle.dev/fettle/internal/host/fault"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
)

func parse(t *testing.T, line string) step.Step {
	t.Helper()
	l, ds := step.Parse("list", []byte(line+"\n"))
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	return l[0]
}

// names knows the group staff.
type names struct{ verb.Names }

func (names) GID(n string) (uint32, error) {
	if n == "staff" {
		return 50, nil
	}
	return 0, &verb.UnknownNameError{What: "group", Name: n}
}

func (names) UID(string) (uint32, error) { return 1000, nil }
func (names) UserName(id uint32) string  { return map[uint32]string{1000: "ann"}[id] }
func (names) GroupName(id uint32) string { return map[uint32]string{50: "staff"}[id] }

// A number that another account has cannot be given to a new one.
func TestNumberOfAnother(t *testing.T) {
	for line, by := range map[string]string{"USER bob uid=1000": "user:ann", "USER ann uid=1000": "",
		"GROUP ops gid=50": "group:staff", "GROUP staff gid=50": "", "USER bob uid=1001": ""} {
		s, taken := parse(t, line), (*verb.TakenError)(nil)
		var err error
		if s.Verb == step.User {
			_, err = User{}.Target(s, image.Image{}, names{})
		} else {
			_, err = Group{}.Target(s, image.Image{}, names{})
		}
		if errors.As(err, &taken) != (by != "") || by != "" && string(taken.InTheWay()) != by || by == "" && err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func machine(t *testing.T, plan *fault.Plan) *mem.Host {
	t.Helper()
	h := mem.New(mem.Options{Count: plan.Count})
	if err := h.Mkdir("/etc", 0o755); err != nil {
		t.Fatal(err)
	}
	for p, text := range map[string]string{
		"/etc/passwd": "root:x:0:0:root:/root:/bin/bash\nann:x:1000:1000:Ann:/home/ann:/bin/bash\n",
		"/etc/shadow": "root:*:1::::::\nann:*:1::::::\n",
		"/etc/group":  "root:x:0:\nstaff:x:50:\nann:x:1000:\n", "/etc/gshadow": "root:*::\nstaff:*::\nann:!::\n",
	} {
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
	return h
}

func verbOf(s step.Step) verb.Verb {
	return map[step.Verb]verb.Verb{step.User: User{}, step.Group: Group{}, step.Member: Member{}}[s.Verb]
}

// TestTarget: properties that a step names change, and all others stay.
func TestTarget(t *testing.T) {
	ann := image.Of(&image.User{Present: true, UID: 1000, GID: 1000, Home: "/home/ann", Shell: "/bin/bash",
		Comment: "Ann", Lines: map[string]string{"passwd": "x"}})
	staff := image.Of(&image.Group{Present: true, GID: 50, Members: []string{"ann"}})
	for line, c := range map[string]struct{ now, want image.Image }{
		"USER new": {image.Of(&image.User{}),
			image.Of(&image.User{Present: true, Home: "/home/new", Shell: "/bin/sh"})},
		"USER new uid=7 home=/srv comment=N": {image.Image{},
			image.Of(&image.User{Present: true, UID: 7, Home: "/srv", Shell: "/bin/sh", Comment: "N"})},
		"USER ann": {ann, image.Of(&image.User{Present: true, UID: 1000, GID: 1000,
			Home: "/home/ann", Shell: "/bin/bash", Comment: "Ann"})},
		"USER ann group=staff shell=/bin/zsh": {ann, image.Of(&image.User{Present: true, UID: 1000, GID: 50,
			Home: "/home/ann", Shell: "/bin/zsh", Comment: "Ann"})},
		"USER ann ensure=absent":         {ann, image.Of(&image.User{})},
		"GROUP staff":                    {staff, image.Of(&image.Group{Present: true, GID: 50})},
		"GROUP staff gid=51":             {staff, image.Of(&image.Group{Present: true, GID: 51})},
		"GROUP staff ensure=absent":      {staff, image.Of(&image.Group{})},
		"GROUP new":                      {image.Image{}, image.Of(&image.Group{Present: true})},
		"MEMBER ann staff":               {image.Image{}, image.Of(&image.Member{Present: true})},
		"MEMBER ann staff ensure=absent": {image.Image{}, image.Of(&image.Member{})},
	} {
		s := parse(t, line)
		got, err := verbOf(s).Target(s, c.now, names{})
		if err != nil || !got.Same(c.want) {
			t.Errorf("%s: %+v %+v %+v, %v", line, got.User(), got.Group(), got.Member(), err)
		}
	}
	if ann.User().Lines == nil || staff.Group().Members == nil {
		t.Error("what was found was changed")
	}
	var none *verb.UnknownNameError
	s := parse(t, "USER ann group=nobodies")
	if _, err := (User{}).Target(s, ann, names{}); !errors.As(err, &none) {
		t.Errorf("a group that is not there: %v", err)
	}
}

// TestMoveThereAndBack: accounts change as desired, a second move changes nothing, and the original
// state is restored line by line.
func TestMoveThereAndBack(t *testing.T) {
	for _, line := range []string{"USER new uid=1500", "USER new", "USER ann shell=/bin/zsh", "USER ann ensure=absent",
		"GROUP deploy gid=900", "GROUP deploy system=true",
		"GROUP staff gid=51", "GROUP staff ensure=absent", "MEMBER ann staff"} {
		plan := &fault.Plan{}
		h := machine(t, plan)
		e := verb.Env{Host: h}
		s := parse(t, line)
		v := verbOf(s)
		from, err := v.Observe(t.Context(), e, s)
		if err != nil {
			t.Fatal(err)
		}
		to, err := v.Target(s, from, names{})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := v.(verb.Mover).Move(t.Context(), e, s, from, to); err != nil {
				t.Errorf("%s: %v", line, err)
			}
		}
		now, err := v.Observe(t.Context(), e, s)
		if again, terr := v.Target(s, now, names{}); err != nil || terr != nil || !again.Same(now) {
			t.Errorf("%s: it is %+v %+v, and not in sync; %v %v", line, now.User(), now.Group(), err, terr)
		}
		if err := v.(verb.Mover).Move(t.Context(), e, s, now, from); err != nil {
			t.Errorf("%s, back: %v", line, err)
		}
		if back, err := v.Observe(t.Context(), e, s); err != nil || !back.Same(from) {
			t.Errorf("%s: back it is %+v %+v, was %+v %+v; %v", line, back.User(), back.Group(), from.User(), from.Group(), err)
		}
	}
}

// TestErrors: the error names the account.
func TestErrors(t *testing.T) {
	for line, want := range map[string]string{
		"USER new uid=1500": `cannot set user "new"`, "GROUP deploy gid=900": `cannot set group "deploy"`,
		"MEMBER ann staff": `cannot set membership of "ann" in "staff"`,
	} {
		h := machine(t, &fault.Plan{})
		broken := fault.Wrap(h, &fault.Plan{At: 1, Err: syscall.ENOSPC, Sticky: true})
		s := parse(t, line)
		to, err := verbOf(s).Target(s, image.Image{}, names{})
		if err != nil {
			t.Fatal(err)
		}
		err = verbOf(s).(verb.Mover).Move(t.Context(), verb.Env{Host: broken}, s, image.Image{}, to)
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", line, err)
		}
	}
	h := machine(t, &fault.Plan{})
	if err := h.Remove("/etc/group"); err != nil {
		t.Fatal(err)
	}
	if err := h.Mkdir("/etc/group", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"MEMBER ann staff", "GROUP staff"} {
		s := parse(t, line)
		if _, err := verbOf(s).Observe(t.Context(), verb.Env{Host: h}, s); err == nil {
			t.Errorf("%s: a directory passes for the groups", line)
		}
	}
}
