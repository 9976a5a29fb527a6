package hubtasks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/hub/scopes"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/secret/vault"
)

// Preparer reads tasks from the content of a hub. It changes nothing, and is safe for concurrent use.
type Preparer struct {
	// Tree returns the parts of a commit, and their tree until end is called.
	Tree func(ctx context.Context, at fleet.Revision) (parts []fleet.Assigned, tree repo.Tree, end func(), err error)
	// Scopes compiles the scopes of a tree.
	Scopes  func(repo.Tree) (query.Scopes, diag.List)
	Content *content.Store
	// Signers returns the keys that must sign commits, in the format of allowed_signers. nil text: unsigned commits are
	// accepted. nil: they always are.
	Signers func() ([]byte, error)
	// Fleets are the names of the files that bind a repository to this fleet.
	Fleets func() ([]string, error)
	// Identity returns the file with the private key of this hub for secrets, nil without one.
	Identity func() ([]byte, error)
	Now      func() int64 // seconds since 1970
}

// Prepare returns the work of an attempt. It fails if the commit is not signed as required, or declares the task
// with other content. It also fails if this hub cannot decrypt a secret of the task, or if a host can.
func (p Preparer) Prepare(ctx context.Context, at fleet.Revision, a fleet.TaskAttempt) (scopes.Work, error) {
	parts, tree, end, err := p.Tree(ctx, at)
	if err != nil {
		return scopes.Work{}, fmt.Errorf("cannot read the commit of the task: %w", err)
	}
	defer end()
	if err := p.verify(parts); err != nil {
		return scopes.Work{}, err
	}
	all, ds := p.Scopes(tree)
	if err := ds.Err(); err != nil {
		return scopes.Work{}, fmt.Errorf("cannot read the scopes of the repository: %w", err)
	}
	t, ok := all.HubTask(a.Scope, a.Task)
	if ok && a.Undo {
		if t.Undo == nil {
			return scopes.Work{}, fmt.Errorf("the commit declares no undo of the task %s of %s", a.Task, a.Scope)
		}
		t = *t.Undo
	}
	switch {
	case !ok:
		return scopes.Work{}, fmt.Errorf("the repository declares no task %s of %s for hubs", a.Task, a.Scope)
	case t.Digest != a.Digest:
		return scopes.Work{}, fmt.Errorf("the repository declares the task %s of %s with another content", a.Task, a.Scope)
	case a.VerifyOnly && t.Verify == nil:
		return scopes.Work{}, fmt.Errorf("cannot verify the task %s of %s: it has no verify block", a.Task, a.Scope)
	}
	env, err := p.secrets(tree, t)
	return scopes.Work{Attempt: a, ScopeTask: t, Env: env}, err
}

// Accept returns nil if the commit is signed as required.
func (p Preparer) Accept(ctx context.Context, at fleet.Revision) error {
	if p.Signers == nil {
		return nil
	}
	parts, _, end, err := p.Tree(ctx, at)
	if err != nil {
		return fmt.Errorf("cannot read the commit of the check: %w", err)
	}
	defer end()
	return p.verify(parts)
}

// verify verifies the signature of the root part, which contains all scopes and all files that they read.
func (p Preparer) verify(parts []fleet.Assigned) error {
	if p.Signers == nil {
		return nil
	}
	text, err := p.Signers()
	if err != nil || text == nil {
		return err
	}
	signers, err := content.ParseSigners("allowed_signers", text)
	if err != nil {
		return err
	}
	fleets, err := p.Fleets()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(parts, func(a fleet.Assigned) bool { return a.Module == content.RootBundle })
	if i < 0 || parts[i].Proof == nil {
		return errors.New("cannot verify the signature of the commit: it has no proof")
	}
	proofText, err := p.Content.Read(*parts[i].Proof, content.MaxProof)
	if err != nil {
		return err
	}
	proof, err := content.ParseProof(proofText)
	if err != nil {
		return err
	}
	b, closing, err := content.OpenBundle(p.Content, parts[i].Bundle)
	if err != nil {
		return err
	}
	defer func() { _ = closing() }()
	_, err = content.Verify(proof, b, content.Claim{Repository: parts[i].Revision.Repository,
		Commit: parts[i].Revision.Commit, Part: content.RootBundle},
		content.Trust{Signers: signers, Fleets: fleets, Now: p.Now()})
	return err
}

// secrets decrypts the secrets of a task.
func (p Preparer) secrets(tree repo.Tree, t query.ScopeTask) (map[string]string, error) {
	if len(t.Secrets) == 0 {
		return nil, nil
	}
	text, err := tree.ReadFile(vault.RecipientsFile)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", vault.RecipientsFile, err)
	}
	recipients, err := vault.ParseRecipients(text)
	if err != nil {
		return nil, err
	}
	v, out := vault.New(tree, p.identities), map[string]string{}
	for variable, name := range t.Secrets {
		for _, r := range recipients.For(name) {
			if r.Kind == vault.Host {
				return nil, fmt.Errorf("the host %s can decrypt the secret %q. Let only hubs decrypt it: fettle secret "+
					"add-recipient hub HUB KEY --only %s", r.Name, name, name)
			}
		}
		value, err := v.Secret(name)
		var closed *vault.NotOpenError
		if errors.As(err, &closed) {
			return nil, fmt.Errorf("%w. Add the hub: fettle secret add-recipient hub HUB KEY --only %s", err, name)
		}
		if err != nil {
			return nil, err
		}
		out[variable] = strings.TrimSuffix(string(value), "\n")
		if strings.ContainsRune(out[variable], 0) {
			return nil, fmt.Errorf("cannot use the secret %q as an environment variable: it has a NUL byte", name)
		}
	}
	return out, nil
}

func (p Preparer) identities() (vault.Identities, error) {
	text, err := p.Identity()
	if err != nil || text == nil {
		return nil, err
	}
	return vault.ParseIdentities(text, "of the hub")
}
