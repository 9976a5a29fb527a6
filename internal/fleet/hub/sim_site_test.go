package hub

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha512"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/hub/repository"
	"fettle.dev/fettle/internal/repo"
)

// site is a git server in memory: branches and signed commits with their contents.
type site struct {
	believed, stranger ssh.Signer
	bound              string // the file that binds what is committed to the fleet

	mu       sync.Mutex
	down     bool
	commits  map[string]*revision
	branches map[string]string
	moved    chan struct{} // closed and replaced when a branch moves
	last     int64         // time of the newest commit
	// hostile replaces the objects of a history; nil delivers them.
	hostile func([][]byte) ([][]byte, error)
}

// revision is a commit with its objects.
type revision struct {
	info   fleet.Revision
	parts  map[string]map[string]string // files by part
	raw    []byte
	trees  map[string][][]byte // of the proof, by part
	signed bool                // by a key that agents trust
}

func newSite() *site {
	key := func() ssh.Signer {
		_, private, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			panic(err)
		}
		s, err := ssh.NewSignerFromKey(private)
		if err != nil {
			panic(err)
		}
		return s
	}
	return &site{believed: key(), stranger: key(), commits: map[string]*revision{}, branches: map[string]string{},
		moved: make(chan struct{})}
}

// allowed returns the file of the keys that agents trust.
func (s *site) allowed() []byte {
	return append([]byte("ann@example.org "), ssh.MarshalAuthorizedKey(s.believed.PublicKey())...)
}

func gitID(typ string, raw []byte) string {
	sum := sha1.Sum(append(fmt.Appendf(nil, "%s %d\x00", typ, len(raw)), raw...))
	return hex.EncodeToString(sum[:])
}

// gitTree is a tree object of files, and of directories by their identity.
func gitTree(files, directories map[string]string) []byte {
	var raw []byte
	all := maps.Clone(directories)
	for name := range files {
		all[name+"\x00"] = ""
	}
	names := slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		key := func(n string) string {
			if file, ok := strings.CutSuffix(n, "\x00"); ok {
				return file
			}
			return n + "/"
		}
		return strings.Compare(key(a), key(b))
	})
	for _, n := range names {
		mode, id, name := "40000", directories[n], n
		if file, ok := strings.CutSuffix(n, "\x00"); ok {
			mode, id, name = "100644", gitID("blob", []byte(files[file])), file
		}
		b, _ := hex.DecodeString(id)
		raw = append(append(raw, mode+" "+name+"\x00"...), b...)
	}
	return raw
}

// commit puts a commit for the fleet on a branch, signed by a key; nil means unsigned.
func (s *site) commit(branch string, by ssh.Signer, parts map[string]map[string]string) *revision {
	parts = maps.Clone(parts)
	top := maps.Clone(parts[""])
	if top == nil {
		top = map[string]string{}
	}
	top[s.bound] = ""
	parts[""] = top
	return s.foreign(branch, by, parts)
}

// foreign puts a commit of any repository on a branch.
func (s *site) foreign(branch string, by ssh.Signer, parts map[string]map[string]string) *revision {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = max(s.last+1, time.Now().Unix())
	r := &revision{parts: parts, signed: by == s.believed}
	directories := map[string]string{}
	for part, files := range parts {
		if part != "" {
			directories[strings.TrimPrefix(part, "modules/")] = gitID("tree", gitTree(files, map[string]string{}))
		}
	}
	modules := gitTree(nil, directories)
	root := gitTree(parts[""], map[string]string{"modules": gitID("tree", modules)})
	r.trees = map[string][][]byte{"": {root}}
	for part := range parts {
		if part != "" {
			r.trees[part] = [][]byte{root, modules}
		}
	}
	head := fmt.Sprintf("tree %s\n%sauthor Ann <a@example.org> %d +0000\ncommitter Ann <a@example.org> %d +0000\n",
		gitID("tree", root), parents(s.branches[branch]), s.last, s.last)
	r.raw = []byte(head + "\nchange\n")
	if by != nil {
		r.raw = []byte(head + "gpgsig " + strings.ReplaceAll(strings.TrimSuffix(sshSign(by, head+"\nchange\n"), "\n"), "\n",
			"\n ") + "\n\nchange\n")
	}
	r.info = fleet.Revision{Repository: "site", Commit: gitID("commit", r.raw), Time: s.last, Subject: "change"}
	s.commits[r.info.Commit], s.branches[branch] = r, r.info.Commit
	close(s.moved)
	s.moved = make(chan struct{})
	return r
}

// parents returns the headers of the parents of a commit.
func parents(ids ...string) (text string) {
	for _, id := range ids {
		if id != "" {
			text += "parent " + id + "\n"
		}
	}
	return text
}

// sshSign signs a commit as OpenSSH does.
func sshSign(key ssh.Signer, text string) string {
	return sshSignIn(key, content.CommitNamespace, text)
}

func sshSignIn(key ssh.Signer, namespace, text string) string {
	str := func(parts ...string) (b []byte) {
		for _, p := range parts {
			b = append(binary.BigEndian.AppendUint32(b, uint32(len(p))), p...)
		}
		return b
	}
	sum := sha512.Sum512([]byte(text))
	sig, err := key.Sign(rand.Reader, append([]byte("SSHSIG"), str(namespace, "", "sha512", string(sum[:]))...))
	if err != nil {
		panic(err)
	}
	blob := binary.BigEndian.AppendUint32([]byte("SSHSIG"), 1)
	blob = append(blob, str(string(key.PublicKey().Marshal()), namespace, "", "sha512", string(ssh.Marshal(sig)))...)
	return "-----BEGIN SSH SIGNATURE-----\n" + base64.StdEncoding.EncodeToString(blob) + "\n-----END SSH SIGNATURE-----\n"
}

// of finds a commit.
func (s *site) of(commit string) *revision {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.commits[commit]
}

func (s *site) setDown(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
	close(s.moved)
	s.moved = make(chan struct{})
}

// bundle returns the name of a part.
func (r *revision) bundle(part string) fleet.Bundle {
	var b bytes.Buffer
	info, err := content.Pack(&b, r.tree(), part)
	if err != nil {
		panic(err)
	}
	return info
}

func (r *revision) tree() repo.Tree {
	all := map[string]string{}
	for part, files := range r.parts {
		for name, text := range files {
			all[strings.TrimPrefix(part+"/"+name, "/")] = text
		}
	}
	return repo.MapTree(all)
}

// cloneOfSite represents the site in a hub: its sources.
type cloneOfSite struct {
	*content.Sources
	site *site

	mu   sync.Mutex
	refs []string
	more chan struct{}
}

func (s *site) clone(of *content.Sources) repository.Sources {
	return &cloneOfSite{Sources: of, site: s, more: make(chan struct{}, 1)}
}

func (c *cloneOfSite) Set(list []content.Source) error {
	c.mu.Lock()
	c.refs = nil
	for _, s := range list {
		c.refs = append(c.refs, s.Refs...)
	}
	c.mu.Unlock()
	c.Poke("")
	return nil
}

func (c *cloneOfSite) Poke(string) {
	select {
	case c.more <- struct{}{}:
	default:
	}
}

func (c *cloneOfSite) Run(ctx context.Context) {
	for ctx.Err() == nil {
		c.site.mu.Lock()
		moved := c.site.moved
		c.site.mu.Unlock()
		c.ask()
		select {
		case <-ctx.Done():
		case <-moved:
		case <-c.more:
		case <-time.After(30 * time.Second):
		}
	}
}

func (c *cloneOfSite) ask() {
	c.mu.Lock()
	refs := slices.Clone(c.refs)
	c.mu.Unlock()
	if len(refs) == 0 {
		return
	}
	c.site.mu.Lock()
	found, err := map[string]fleet.Revision{}, error(nil)
	for _, ref := range refs {
		if r := c.site.commits[cmp.Or(c.site.branches[ref], ref)]; r == nil {
			err = fmt.Errorf("there is no %s", ref)
		} else {
			found[ref] = r.info
			rev := found[ref]
			rev.Branch = ref
			found[ref] = rev
		}
	}
	if c.site.down {
		found, err = nil, errors.New("the git server is away")
	}
	c.site.mu.Unlock()
	if len(found) > 0 {
		c.Changed("site", found)
	}
	if err != nil {
		c.Failed("site", err)
	} else {
		c.Answered("site")
	}
}

func (c *cloneOfSite) Pack(_ context.Context, rev fleet.Revision, store *content.Store) ([]fleet.Assigned, error) {
	r := c.site.of(rev.Commit)
	if r == nil {
		return nil, errors.New("there is no such commit")
	}
	var out []fleet.Assigned
	for _, part := range slices.Sorted(maps.Keys(r.parts)) {
		b, err := store.Add(func(w io.Writer) error {
			_, err := content.Pack(w, r.tree(), part)
			return err
		})
		if err != nil {
			return nil, err
		}
		p := content.Proof{Format: content.ProofFormat, Commit: r.raw, Trees: r.trees[part]}
		text := p.Marshal()
		proof, err := store.Add(func(w io.Writer) error { _, err := w.Write(text); return err })
		if err != nil {
			return nil, err
		}
		info := r.info
		if r.signed {
			info.Signer = p.Signer(info.Commit)
		}
		out = append(out, fleet.Assigned{Module: part, Revision: info, Bundle: b, Proof: &proof})
	}
	return out, nil
}
