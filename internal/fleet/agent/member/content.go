package member

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"slices"
	"time"

	"fettle.dev/fettle/internal/exported"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent"
	"fettle.dev/fettle/internal/fleet/agent/durable"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/repo"
)

func parts(a fleet.Assignment) []fleet.Assigned {
	return slices.Concat([]fleet.Assigned{a.Root}, a.Modules)
}

// Fetch implements agent.Content. It fetches the missing bundles and verifies the signatures of all
// parts.
func (m *Member) Fetch(ctx context.Context, a fleet.Assignment) error {
	conf := m.who().ResumingTLS(m.revoked, m.cfg.Now, m.minimumTime)
	transport := &http.Transport{TLSClientConfig: conf, DialContext: m.cfg.Dial, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	f := &content.Fetcher{Store: m.store, Bases: func() []string { return m.who().HubURLs }, Transport: transport,
		FetchSmall: m.askContent}
	for _, b := range bundles(a) {
		if err := m.fetch(ctx, f, a, b); err != nil {
			return err
		}
	}
	return m.believe(ctx, transport, a)
}

// bundles returns all bundles of an assignment: its parts and their proofs.
func bundles(a fleet.Assignment) (all []fleet.Bundle) {
	for _, as := range parts(a) {
		if all = append(all, as.Bundle); as.Proof != nil {
			all = append(all, *as.Proof)
		}
	}
	return all
}

// fetch fetches a bundle. If the disk is full, it deletes bundles that are no longer needed, and
// tries again. Before the first call of Retain, the needed bundles are unknown, and nothing is
// deleted.
func (m *Member) fetch(ctx context.Context, f *content.Fetcher, a fleet.Assignment, b fleet.Bundle) error {
	err := f.Fetch(ctx, b)
	m.mu.Lock()
	retained := m.retained
	m.mu.Unlock()
	if !errors.Is(err, content.ErrFull) || retained == nil {
		return err
	}
	needed := map[string]bool{}
	for _, n := range bundles(a) {
		needed[n.Digest] = true
	}
	if _, err := m.store.Collect(func(digest string) bool { return retained[digest] || needed[digest] },
		b.Size); err != nil {
		return err
	}
	return f.Fetch(ctx, b)
}

// askContent requests small content from a hub through the agent connection.
func (m *Member) askContent(ctx context.Context, digest string) ([]byte, error) {
	m.mu.Lock()
	l := m.link
	m.mu.Unlock()
	if l == nil {
		return nil, fleet.ErrNoHub
	}
	ctx, cancel := context.WithTimeout(ctx, learnFor)
	defer cancel()
	return l.Ask(ctx, fleet.MessageContent, []byte(digest))
}

// believe verifies the signatures of all parts, and the histories that this host requires. Then it
// stores the accepted commits.
func (m *Member) believe(ctx context.Context, rt http.RoundTripper, a fleet.Assignment) error {
	m.believing.Lock() // the verification of a history takes time, so m.mu must not be locked during it
	defer m.believing.Unlock()
	signers, err := m.signers()
	if errors.Is(err, errSignersGone) {
		return fmt.Errorf("%w: %w", agent.ErrNever, err) // reported at once
	}
	if err != nil {
		return err
	}
	descent, err := m.descent(signers)
	if err != nil {
		return fmt.Errorf("%w: %w", agent.ErrNever, err)
	}
	if signers == nil {
		return nil
	}
	next, histories, err := m.believeParts(*signers, a, descent.Return)
	if err != nil {
		return err
	}
	for _, l := range histories {
		if !l.NeedsHistory(descent) {
			continue
		}
		if err := m.verifyHistory(ctx, rt, l, descent); err != nil {
			return err
		}
	}
	return m.take(next)
}

// taken is the durable record of accepted commits.
type taken struct {
	minimumCommits content.MinimumCommits
	accepted       content.Accepted
	returns        content.Returns
}

// believeParts verifies the signature of each part. It returns the records to store, and the parts
// whose history must be verified because they have no permit. within is the time for which the host may return
// to its present content.
func (m *Member) believeParts(signers content.Signers, a fleet.Assignment,
	within time.Duration) (next taken, histories []lineage, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	next = taken{maps.Clone(m.minimumCommits), maps.Clone(m.accepted), maps.Clone(m.returns)}
	until := m.cfg.Now().Add(within).Unix()
	for part := range next.returns {
		if !slices.ContainsFunc(parts(a), func(as fleet.Assigned) bool { return as.Module == part }) {
			next.returns.Record(part, "", until)
		}
	}
	for _, as := range parts(a) {
		l := lineage{m.accepted.Lineage(as.Module, as.Revision.Commit), claimOf(m.identity.Name, a, as),
			content.Trust{Signers: signers, Fleets: m.fleetFiles(), MinimumCommit: m.minimumCommits.Of(as.Module),
				Now: m.cfg.Now().Unix()}}
		signed, back, err := m.believedOrBack(l, as)
		if err != nil {
			return next, nil, fmt.Errorf("%w: %s: %w", agent.ErrNever, orTop(as.Module), err)
		}
		if back {
			next.returns.RecordReturn(as.Module, as.Bundle.Digest)
			continue
		}
		next.returns.Record(as.Module, as.Bundle.Digest, until)
		next.minimumCommits.Record(as.Module, signed)
		next.accepted[as.Module] = as.Revision.Commit
		if signed.Permit == "" && !l.permits() {
			histories = append(histories, l)
		}
	}
	return next, histories, nil
}

// take stores the records durably. If a crash occurs between the files, the minimum times stay
// as before, and the next attempt raises them. The content before is stored first: after the next attempt, it would
// not be known any more.
func (m *Member) take(next taken) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !maps.Equal(next.returns, m.returns) {
		if err := saveReturns(m.cfg.Files, m.cfg.Dir, next.returns); err != nil {
			return err
		}
		m.returns = next.returns
	}
	if !maps.Equal(next.accepted, m.accepted) {
		if err := saveAccepted(m.cfg.Files, m.acceptedFile(), next.accepted); err != nil {
			return err
		}
		m.accepted = next.accepted
	}
	if maps.Equal(next.minimumCommits, m.minimumCommits) {
		return nil
	}
	if err := saveMinimumCommits(m.cfg.Files, m.minimumCommitsFile(), next.minimumCommits); err != nil {
		return err
	}
	m.minimumCommits = next.minimumCommits
	return nil
}

// believedOrBack verifies the signature of a part. back is true if the commit is older than an accepted commit,
// and the host may return to its content without a permit.
func (m *Member) believedOrBack(l lineage, as fleet.Assigned) (signed content.Signed, back bool, err error) {
	minimum := l.trust.MinimumCommit
	back = !l.permits() && m.returns.Accepts(as.Module, as.Bundle.Digest, l.trust.Now)
	if back {
		l.trust.MinimumCommit = 0
	}
	signed, err = m.believed(l, as)
	return signed, back && signed.Time < minimum, err
}

func (m *Member) believed(l lineage, as fleet.Assigned) (content.Signed, error) {
	if as.Proof == nil {
		return content.Signed{}, errors.New("it has no proof, and this target requires signatures")
	}
	text, err := m.store.Read(*as.Proof, content.MaxProof)
	if err != nil {
		return content.Signed{}, err
	}
	proof, err := content.ParseProof(text)
	if err != nil {
		return content.Signed{}, err
	}
	b, closing, err := content.OpenBundle(m.store, as.Bundle)
	if err != nil {
		return content.Signed{}, err
	}
	defer func() { _ = closing() }()
	return content.Verify(proof, b, l.claim, l.trust)
}

// fleetFiles returns the names of the files that bind a repository to this fleet. m.mu must be
// locked.
func (m *Member) fleetFiles() (names []string) {
	for _, c := range m.identity.Authorities() {
		names = append(names, content.FleetFile(pki.DigestOf(c)))
	}
	return names
}

func orTop(module string) string {
	if module == "" {
		return "the top of the repository"
	}
	return module
}

// Tree implements agent.Content.
func (m *Member) Tree(a fleet.Assignment, absent []string) (repo.Tree, func() error, error) {
	var closers []func() error
	closing := func() (err error) {
		for _, c := range closers {
			err = errors.Join(err, c())
		}
		return err
	}
	trees := map[string]repo.Tree{}
	for _, as := range parts(a) {
		b, c, err := content.OpenBundle(m.store, as.Bundle)
		if err != nil {
			return nil, nil, errors.Join(err, closing())
		}
		closers = append(closers, c)
		trees[as.Module] = b.Tree()
	}
	top := trees[""]
	delete(trees, "")
	enrolled := fleet.Enrolled(fleet.EnrolledTargets{
		a.Name: {Labels: a.Labels, Waits: absent, Environment: a.Environment, TestsFor: a.TestsFor}})
	made := map[string]string{fleet.EnrolledFile: string(enrolled)}
	if len(a.Exported) > 0 {
		made[exported.File] = string(exported.Text(a.Exported))
	}
	tree, err := content.ComposeWith(top, trees, made)
	if err != nil {
		return nil, nil, errors.Join(err, closing())
	}
	return tree, closing, nil
}

// Author implements agent.Authors. The proof of a part contains the commit with its author.
func (m *Member) Author(as fleet.Assigned) string {
	if as.Proof == nil {
		return ""
	}
	text, err := m.store.Read(*as.Proof, content.MaxProof)
	if err != nil {
		return ""
	}
	proof, err := content.ParseProof(text)
	if err != nil {
		return ""
	}
	return proof.Author(as.Revision.Commit)
}

// Retain implements agent.Content.
func (m *Member) Retain(digests []string) error {
	keep := map[string]bool{}
	for _, d := range digests {
		keep[d] = true
	}
	m.mu.Lock()
	m.retained = keep
	m.mu.Unlock()
	_, err := m.store.Collect(func(digest string) bool { return keep[digest] }, content.DefaultLimit/2)
	if errors.Is(err, content.ErrFull) {
		return nil // all stored content is needed
	}
	return err
}

func (m *Member) minimumCommitsFile() string { return path.Join(m.cfg.Dir, "floors.json") }

func loadMinimumCommits(files host.FS, file string) (content.MinimumCommits, error) {
	f, err := files.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return content.MinimumCommits{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the accepted commits: %w", err)
	}
	defer f.Close()
	floors := content.MinimumCommits{}
	if err := json.NewDecoder(io.LimitReader(f, 1<<20)).Decode(&floors); err != nil {
		return nil, fmt.Errorf("cannot read the accepted commits: %w", err)
	}
	return floors, nil
}

func saveMinimumCommits(files host.FS, file string, floors content.MinimumCommits) error {
	text, err := json.Marshal(floors)
	if err == nil {
		err = durable.Replace(files, file, text)
	}
	if err != nil {
		return fmt.Errorf("cannot store the accepted commits: %w", err)
	}
	return nil
}
