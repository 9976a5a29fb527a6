package apply_test

import (
	"io/fs"
	"strings"
	"sync"
	"testing"

	"fettle.dev/fettle/internal/executor/local"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
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
