package apply_test

import (
	"io/fs"
	"regexp"
	"strings"
	"sync"
	"testing"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/local"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/secret"
	"fettle.dev/fettle/internal/secret/vault"
)

// Files with a secret: new, over what somebody else wrote, changed, a secret no
// more, and away.
const (
	secrets1 = `MKDIR /srv/s mode=0750
COPY hush_1 /srv/s/a mode=0600 sealed=KEY
COPY hush_2 /srv/updated mode=0600 sealed=KEY
COPY hush_3 /srv/s/gone mode=0600 sealed=KEY
COPY plain /srv/s/p
COPY good_hush /etc/checked mode=0600 sealed=KEY validate="check %s"
`
	secrets2 = `MKDIR /srv/s mode=0700
COPY hush_4 /srv/s/a mode=0640 owner=bob sealed=KEY
COPY open /srv/updated
COPY hush_5 /srv/s/q mode=0600 sealed=KEY
COPY good_hush_2 /etc/checked mode=0600 sealed=KEY validate="check %s"
COPY hush_6 /srv/s/b mode=0600 sealed=KEY
RM /srv/old-file
`
)

// Regions and accounts with a secret: new, over what somebody else wrote, with
// another value, in the open, not spoken of, and away.
const (
	regions1 = `EDIT /etc/sysctl.conf key=vm.x value=HUSH(hush_1)
EDIT /etc/hosts block=web content=HUSH(hush_2|hush_3|)
EDIT /etc/hosts match=^127 line=HUSH(127_hush)
EDIT /etc/new key=db.password value=HUSH(hush_4) format=ini create=true
EDIT /etc/app.json key=db.password value=HUSH("hush_5") format=json create=true
EDIT /etc/app.json key=db.port value=5432 format=json create=true
USER bob uid=1000 password=HUSH($y$hush1)
USER alice uid=1600 password=HUSH($y$hush2) create_home=true
`
	regions2 = `EDIT /etc/sysctl.conf key=vm.x value=HUSH(hush_6)
EDIT /etc/sysctl.conf key=vm.y value=1
EDIT /etc/hosts block=web content="open\n"
EDIT /etc/app.json key=db.port value=HUSH("hush_7") format=json create=true
EDIT /etc/app.json key=db.password value="\"open\"" format=json create=true
USER bob uid=1000 shell=/bin/bash password=HUSH($y$hush3)
COPY m /srv/m
`
	regions3 = `EDIT /etc/sysctl.conf match=^vm ensure=absent
USER bob uid=1000 shell=/bin/bash
USER alice ensure=absent
`
)

// The same with one region a file, so that a run that was stopped has left each
// file as it was or as it was to be.
const (
	cut1 = `EDIT /etc/sysctl.conf key=vm.x value=HUSH(hush_1)
EDIT /etc/hosts block=web content=HUSH(hush_2|hush_3|)
EDIT /etc/new key=db.password value=HUSH(hush_4) format=ini create=true
USER bob uid=1000 password=HUSH($y$hush1)
USER alice uid=1600 password=HUSH($y$hush2)
`
	cut2 = `EDIT /etc/sysctl.conf key=vm.x value=HUSH(hush_6)
EDIT /etc/hosts block=web content="open\n"
USER bob uid=1000 shell=/bin/bash password=HUSH($y$hush3)
`
)

// referring puts references into a list: HUSH(a_b|) is the secret "a b" with a
// line break.
func referring(list string) (string, map[string]kind.Blob) {
	blobs := map[string]kind.Blob{}
	k := sealing().key
	return regexp.MustCompile(`HUSH\([^)]*\)`).ReplaceAllStringFunc(list, func(m string) string {
		text := strings.NewReplacer("_", " ", "|", "\n").Replace(m[len("HUSH(") : len(m)-1])
		b := kind.Inline(string(k.Seal([]byte(text))))
		blobs[b.Digest] = b
		return k.Ref([]byte(text)).String()
	}), blobs
}

// TestSecretRegions: regions and accounts have their secrets, a second run finds
// nothing to do, what was is back at the end, and nothing tells of them.
func TestSecretRegions(t *testing.T) {
	w := newWorld(t)
	origin := w.picture(t, false)
	has := func(when string, want map[string]string) {
		t.Helper()
		for p, text := range want {
			if got, err := read(w.h, p); err != nil || !strings.Contains(got, text) {
				t.Errorf("%s: %s is %q (%v), without %q", when, p, got, err, text)
			}
		}
	}
	apply := func(list string, changed int) {
		t.Helper()
		rep, err := w.apply(t, list, executor.Options{})
		must(t, err)
		if rep.Changed != changed {
			t.Errorf("%d changes, want %d: %+v", rep.Changed, changed, rep)
		}
	}
	apply(regions1, 8)
	has("first", map[string]string{"/etc/sysctl.conf": "vm.x=hush 1\n", "/etc/hosts": "127 hush\n",
		"/etc/new":      "[db]\npassword=hush 4\n",
		"/etc/app.json": `"hush 5"`, "/etc/shadow": "bob:$y$hush1:19000"})
	apply(regions1, 0)
	apply(regions2, 10)
	has("second", map[string]string{"/etc/sysctl.conf": "vm.x=hush 6\n", "/etc/hosts": "127.0.0.1 localhost\n",
		"/etc/app.json": `"open"`,
		"/etc/shadow":   "bob:$y$hush3:19000"})
	apply(regions2, 0)
	apply(regions3, 7)
	has("third", map[string]string{"/etc/shadow": "bob:$y$hush3:19000"})
	apply("", 2)
	for _, d := range w.picture(t, false).differs(false, origin) {
		t.Error(d)
	}
	for _, told := range w.tells(t) {
		t.Error(told)
	}
}

// TestSecretAdopted: a region and an account that had their secrets before are
// looked at afterwards with what the machine has kept, and stay when they are let go.
func TestSecretAdopted(t *testing.T) {
	w := newWorld(t)
	w.write(t, "/etc/app.ini", "[db]\npassword=hush 1\n")
	w.write(t, "/etc/shadow", "root:*:1::::::\nbob:$y$hush1:1::::::\n")
	for _, list := range []string{"EDIT /etc/app.ini key=db.password value=HUSH(hush_1) format=ini\nUSER bob uid=1000 password=HUSH($y$hush1)\n", ""} {
		rep, err := w.apply(t, list, executor.Options{})
		must(t, err)
		if rep.Changed != 0 {
			t.Errorf("%d changes: %+v", rep.Changed, rep)
		}
		x, err := w.open()
		must(t, err)
		p, err := x.Drift(t.Context(), executor.DriftOptions{Diffs: true})
		if err != nil || len(p.Changes) > 0 {
			t.Errorf("drift: %+v, %v", p, err)
		}
	}
	if text, err := read(w.h, "/etc/app.ini"); err != nil || text != "[db]\npassword=hush 1\n" {
		t.Errorf("%q, %v", text, err)
	}
	for _, told := range w.tells(t) {
		t.Error(told)
	}
}

// seals is what a repository and a host have for secrets.
type seals struct {
	key    secret.Key
	bundle secret.Bundle
	ids    vault.Identities
}

// sealing is made once: the file of the key is another one each time.
var sealing = sync.OnceValue(func() seals {
	file, public, err := vault.NewIdentity()
	if err != nil {
		panic(err)
	}
	s := seals{key: secret.NewKey()}
	if s.ids, err = vault.ParseIdentities(file, "test"); err != nil {
		panic(err)
	}
	to, err := vault.Recipients{}.With(vault.Recipient{Kind: "host", Name: "m", Key: public})
	if err != nil {
		panic(err)
	}
	keyFile, err := vault.Seal(s.key.Text(), to)
	if err != nil {
		panic(err)
	}
	s.bundle = secret.Bundle{Key: s.key.ID(), KeyFile: keyFile, Values: s.key.SealValues([]string{"hush"})}
	return s
})

func options() local.Options {
	return local.Options{Ballast: -1, Identities: func() (vault.Identities, error) { return sealing().ids, nil }}
}

// tells finds files of the state directory that have a secret in them.
func (w *world) tells(t testing.TB) []string {
	var out []string
	var walk func(dir string)
	walk = func(dir string) {
		names, err := w.st.ReadDir(dir)
		must(t, err)
		for _, n := range names {
			p := host.JoinPath(dir, n)
			st, err := w.st.Lstat(p)
			must(t, err)
			if st.Type == image.Directory {
				walk(p)
				continue
			}
			if text, err := read(w.st, p); err == nil && strings.Contains(text, "hush") {
				out = append(out, p+" has a secret in it")
			} else if err != nil && err != fs.ErrNotExist {
				t.Fatal(err)
			}
		}
	}
	walk("/")
	return out
}
