package hub

import (
	"errors"
	"io/fs"

	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/hub/hubtasks"
	"fettle.dev/fettle/internal/fleet/hub/leader"
	"fettle.dev/fettle/internal/fleet/hub/scopes"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/fleet/smallfile"
)

// identityFile contains the private key with which this hub decrypts secrets of tasks.
const identityFile = "identity"

// newOnHub returns the part of a hub that does tasks of scopes itself.
func newOnHub(c *core, l *leader.Leader) scopes.OnHub {
	out := scopes.OnHub{Hub: c.set.Name, Journal: scopes.Journal{Files: c.conf.Files, Dir: c.conf.Dir}}
	if c.conf.Tasks == nil {
		return out
	}
	p := hubtasks.Preparer{Tree: l.Tree, Scopes: c.conf.Compile.Scopes, Content: c.content, Signers: c.conf.Signers,
		Fleets: func() ([]string, error) {
			authority, err := c.keys.Authority()
			if err != nil {
				return nil, err
			}
			return []string{content.FleetFile(pki.DigestOf(authority))}, nil
		},
		Identity: func() ([]byte, error) {
			text, err := smallfile.Read(c.conf.Files, c.dir(identityFile))
			if errors.Is(err, fs.ErrNotExist) {
				return nil, nil
			}
			return text, err
		},
		Now: func() int64 { return c.now().Unix() }}
	out.Unable, out.Prepare, out.Do = c.conf.Tasks.Unable, p.Prepare, c.conf.Tasks.Do
	out.Accept, out.Test = p.Accept, c.conf.Tasks.Test
	return out
}
