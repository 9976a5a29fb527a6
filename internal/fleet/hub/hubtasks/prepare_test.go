package hubtasks

import (
	"context"
	"errors"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/secret/vault"
)

// keys are the identities of a repository with a secret.
type keys struct{ hub, host, user []byte }

// repository returns a tree with the task crl, whose secret only some recipients can decrypt.
func repository(t *testing.T, only string) (repo.Tree, keys) {
	t.Helper()
	var rs vault.Recipients
	var out keys
	for _, x := range []struct {
		kind string
		file *[]byte
		only []string
	}{{vault.User, &out.user, nil}, {vault.Host, &out.host, nil}, {vault.Hub, &out.hub, []string{only}}} {
		file, public, err := vault.NewIdentity()
		*x.file = file
		if err == nil {
			rs, err = rs.With(vault.Recipient{Kind: x.kind, Name: x.kind + "1", Key: public, Only: x.only})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	sealed, err := vault.Seal([]byte(tsig+"\n"), rs.For("hubs/tsig"))
	if err != nil {
		t.Fatal(err)
	}
	return repo.MapTree(map[string]string{vault.RecipientsFile: string(rs.Text()), "secrets/hubs/tsig.age": string(sealed),
		"fettle.hcl": `universe "main" {
  task "crl" {
    command = ["publish"]
    secrets = { TSIG_KEY = "hubs/tsig" }
  }
}
`}), out
}

// preparer reads a tree as a hub with an identity.
func preparer(tree repo.Tree, identity []byte) Preparer {
	return Preparer{Scopes: compile.Scopes, Identity: func() ([]byte, error) { return identity, nil },
		Tree: func(context.Context, fleet.Revision) ([]fleet.Assigned, repo.Tree, func(), error) {
			return nil, tree, func() {}, nil
		}}
}

func declared(t *testing.T, tree repo.Tree) query.ScopeTask {
	t.Helper()
	all, ds := compile.Scopes(tree)
	task, ok := all.HubTask("universe/main", "crl")
	if !ok {
		t.Fatal(ds.Err())
	}
	return task
}

// TestPrepare: only a hub that is a recipient gets the secret of a task, and only if no host can decrypt it.
func TestPrepare(t *testing.T) {
	tree, own := repository(t, "hubs/*")
	a := fleet.TaskAttempt{Scope: "universe/main", Task: "crl", Digest: declared(t, tree).Digest, Fence: 7}
	w, err := preparer(tree, own.hub).Prepare(t.Context(), fleet.Revision{}, a)
	if err != nil || w.Env["TSIG_KEY"] != tsig || w.Command[0] != "publish" || w.Attempt != a {
		t.Errorf("%+v, %v", w, err)
	}
	hosts, others := repository(t, "other/*")
	for name, x := range map[string]struct {
		p    Preparer
		a    fleet.TaskAttempt
		want string
	}{
		"host":          {preparer(tree, own.host), a, "not a recipient"},
		"no identity":   {preparer(tree, nil), a, "no identity"},
		"hosts have it": {preparer(hosts, others.hub), a, "the host host1 can decrypt"},
		"other content": {preparer(tree, own.hub), fleet.TaskAttempt{Scope: "universe/main", Task: "crl", Digest: "x"},
			"another content"},
		"other task": {preparer(tree, own.hub), fleet.TaskAttempt{Scope: "universe/main", Task: "x", Digest: a.Digest},
			"declares no task"},
		"nothing to verify": {preparer(tree, own.hub), fleet.TaskAttempt{Scope: a.Scope, Task: a.Task, Digest: a.Digest,
			VerifyOnly: true}, "no verify block"},
		"unsigned": {func() Preparer {
			p := preparer(tree, own.hub)
			p.Signers = func() ([]byte, error) { return []byte("# none\n"), nil }
			p.Fleets = func() ([]string, error) { return nil, nil }
			return p
		}(), a, "it has no proof"},
		"unreadable signers": {func() Preparer {
			p := preparer(tree, own.hub)
			p.Signers = func() ([]byte, error) { return nil, errors.New("permission denied") }
			return p
		}(), a, "permission denied"},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := x.p.Prepare(t.Context(), fleet.Revision{}, x.a)
			if err == nil || !strings.Contains(err.Error(), x.want) || strings.Contains(err.Error(), tsig) || w.Env != nil {
				t.Errorf("%+v, %v, want %s", w, err, x.want)
			}
			if err := x.p.Accept(t.Context(), fleet.Revision{}); (err == nil) != (x.p.Signers == nil) {
				t.Errorf("it accepts the commit: %v", err)
			}
		})
	}
}
