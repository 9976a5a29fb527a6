package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
)

// permitLife is the default lifetime of a permit: an agent must reconnect within it.
const permitLife = 7 * 24 * time.Hour

// permitFlags describe a permit and its signing key.
type permitFlags struct {
	key, repository string
	expires         time.Duration
}

func (f *permitFlags) flags(c *cobra.Command) {
	c.Flags().StringVar(&f.key, "key", "",
		"sign the permit with the private key in this `FILE`, or with the key of the SSH agent whose .pub is stored beside it (default: ~/.ssh/id_ed25519)")
}

// PermitDoc is a permit.
type PermitDoc struct {
	Format  string   `json:"format"` // fettle.permitted/1
	Commit  string   `json:"commit"`
	Targets []string `json:"targets"`
	Expires int64    `json:"expires"` // ns since 1970
	Permit  string   `json:"permit"`
}

// signPermit makes a permit for targets to go back to a revision.
func signPermit(ctx context.Context, s *cli.Session, f permitFlags, rev string,
	targets []string) (p content.Permit, signed string, err error) {
	p = content.Permit{Format: content.PermitFormat, Repository: f.repository, Targets: targets,
		Expires: s.App.Now().Add(f.expires).Unix()}
	if p.Commit, err = fullCommit(ctx, s, rev); err != nil {
		return p, "", err
	}
	if p.Repository == "" {
		if p.Repository, err = repositoryOfHub(ctx, s.Printer); err != nil {
			return p, "", err
		}
	}
	key, end, err := hubclient.SigningKey(ctx, s.Printer, f.key, "--key")
	if err != nil {
		return p, "", err
	}
	defer end()
	signed, err = p.Sign(key)
	return p, signed, err
}

var fullID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`) })

// fullCommit returns all digits of a commit; the local repository completes an abbreviation.
func fullCommit(ctx context.Context, s *cli.Session, rev string) (string, error) {
	if fullID().MatchString(rev) {
		return rev, nil
	}
	r, err := repo.OpenWith(ctx, s.Dir, s.Limits())
	if err != nil {
		return "", cli.WithHint(fmt.Errorf("cannot resolve the commit %q: %w", rev, err),
			"Use its full hash, or a repository that contains it: -C DIR")
	}
	defer r.Close()
	info, err := r.Resolve(ctx, rev)
	return info.Commit, cli.WithHint(err, "Use its full hash, or a repository that contains it: -C DIR")
}

func repositoryOfHub(ctx context.Context, s *cli.Printer) (string, error) {
	hub, err := hubclient.HubOf(s)
	if err != nil {
		return "", cli.WithHint(err, "Or name the repository as the hub does: --repository NAME")
	}
	page, err := client.Get(ctx, hub, route.Repositories())
	if err != nil {
		return "", err
	}
	if len(page.Repositories) == 0 {
		return "", errors.New("cannot sign a permit: the hub follows no repository")
	}
	return page.Repositories[0].Name, nil
}

// permitted signs the way back for the targets of a pin.
func permitted(ctx context.Context, s *cli.Session, f permitFlags, rev string,
	named []string) (commit, signed string, err error) {
	hub, err := hubclient.HubOf(s.Printer)
	if err != nil {
		return "", "", err
	}
	ids, err := hubclient.NamedOnHub(ctx, s, hub, named)
	if err != nil {
		return "", "", err
	}
	var names []string
	for _, id := range ids {
		d, err := client.GetAt(ctx, hub, route.Target(), route.TargetName{Target: id})
		if err != nil {
			return "", "", err
		}
		names = append(names, d.Target.Name)
	}
	p, signed, err := signPermit(ctx, s, f, rev, names)
	return p.Commit, signed, err
}

// readPermit reads a signed permit, and returns its commit.
func readPermit(file string) (signed, commit string, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", "", fmt.Errorf("cannot read the permit: %w", err)
	}
	p, _, err := content.ReadPermit(string(text))
	return string(text), p.Commit, err
}
