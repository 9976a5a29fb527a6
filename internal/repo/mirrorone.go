package repo

import (
	"context"
	"errors"
	"fmt"
)

// Fetch fetches the commit of one name, as Update does, and returns its hash. The name can also be the full name of any
// ref of the remote, such as refs/pull/12/head. Only refs with this name are listed. A commit with all its files is not
// fetched again.
func (m *Mirror) Fetch(ctx context.Context, name string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, m.limits.Timeout,
		fmt.Errorf("cannot fetch from %q: it took longer than %s", m.remote.source, m.limits.Timeout))
	defer cancel()
	if err := m.sweep(); err != nil {
		return "", err
	}
	id := name
	if !isObjectID(name) {
		if err := checkRev(name); err != nil {
			return "", err
		}
		refs, err := m.remote.listRefs(ctx, m.limits.Refs, func(string) bool { return true }, name)
		if err != nil {
			return "", err
		}
		if id, err = pick(refs, name); err != nil {
			return "", fmt.Errorf("cannot find %q in %q: %w", name, m.remote.source, err)
		}
	}
	err := error(nil)
	if !m.has(ctx, id) {
		err = m.fetch(ctx, id)
	}
	if err == nil {
		id, err = m.keep(ctx, name, id)
	}
	if err != nil {
		return "", fmt.Errorf("cannot fetch %q of %q: %w", name, m.remote.source, err)
	}
	return id, nil
}

// Kept returns the number of commits that the mirror has.
func (m *Mirror) Kept(ctx context.Context) (int, error) {
	out, err := m.git().output(ctx, "for-each-ref", "--format=x", "refs/kept")
	if err != nil {
		return 0, fmt.Errorf("cannot read the mirror %q: %w", m.dir, err)
	}
	return len(out) / len("x\n"), nil
}

// IsLarge reports whether an error means that the mirror reached the limit of its size.
func IsLarge(err error) bool { return errors.Is(err, errLarge) }
