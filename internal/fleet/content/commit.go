package content

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/crypto/ssh"
)

// commit has the parsed fields of a commit object.
type commit struct {
	tree      string
	parents   []string
	author    string // "name <mail>", without unprintable characters
	time      int64  // of the committer, in seconds since 1970
	subject   string
	signature []byte // nil for none
	payload   []byte // the signed text: the object without its signature
}

// maxCommit is the maximum size of a commit object, in bytes.
const maxCommit = 1 << 20

// parseCommit parses a commit object. Each header that it uses must occur once, in git's order, so
// that git and fettle cannot read the object differently.
func (n naming) parseCommit(raw []byte) (commit, error) {
	header, message, ok := bytes.Cut(raw, []byte("\n\n"))
	if !ok || len(raw) > maxCommit || bytes.ContainsRune(header, 0) {
		return commit{}, errors.New("its commit cannot be read")
	}
	p := commitParser{naming: n, seen: map[string]int{}}
	for line := range bytes.Lines(append(header[:len(header):len(header)], '\n')) {
		if err := p.line(line); err != nil {
			return commit{}, err
		}
	}
	for _, name := range []string{"tree", "author", "committer"} {
		if p.seen[name] != 1 {
			return commit{}, fmt.Errorf("its commit has the header %s %d times", name, p.seen[name])
		}
	}
	p.payload = append(append(p.payload, '\n'), message...)
	p.subject = subjectOf(message)
	return p.commit, nil
}

func subjectOf(message []byte) string {
	first, _, _ := strings.Cut(strings.TrimLeft(string(message), "\n"), "\n")
	return printable(first)
}

// printable returns at most 200 bytes of a text of a commit, with unprintable characters replaced.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s[:min(len(s), 200)], "?"))
}

// personOf returns "Name <mail>" of "Name <mail> 1700000000 +0100".
func personOf(s string) string { return s[:strings.LastIndexByte(s, '>')+1] }

type commitParser struct {
	commit
	naming naming
	seen   map[string]int
	last   string // the header that is continued by a line with a leading space
	before string // the header before it
}

func (p *commitParser) line(line []byte) error {
	if line[0] == ' ' {
		if p.last == p.naming.header {
			p.signature = append(p.signature, line[1:]...)
			return nil
		}
		if slices.Contains([]string{"", "tree", "parent"}, p.last) {
			return errors.New("its commit cannot be read")
		}
		p.payload = append(p.payload, line...)
		return nil
	}
	name, value, ok := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
	if !ok || name == "" {
		return errors.New("its commit has a header that cannot be read")
	}
	p.seen[name]++
	if len(p.seen) == 1 && name != "tree" {
		return errors.New("its commit does not begin with its tree")
	}
	p.before, p.last = p.last, name
	return p.header(name, value, line)
}

func (p *commitParser) header(name, value string, line []byte) error {
	switch {
	case name == p.naming.header:
		if p.seen[name] > 1 {
			return errors.New("its commit has two signatures")
		}
		p.signature = append([]byte(value), '\n')
		return nil
	case strings.HasPrefix(name, "gpgsig"):
		return fmt.Errorf("its commit has a signature of another kind, %.40q", name)
	case name == "tree":
		if len(value) != 2*p.naming.size || strings.Trim(value, "0123456789abcdef") != "" {
			return errors.New("its commit has no valid tree")
		}
		p.tree = value
	case name == "parent":
		if p.before != "tree" && p.before != "parent" || len(value) != 2*p.naming.size ||
			strings.Trim(value, "0123456789abcdef") != "" {
			return errors.New("its commit has an invalid parent")
		}
		p.parents = append(p.parents, value)
	case name == "author":
		p.author = printable(personOf(value))
	case name == "committer":
		t, err := personTime(value)
		if err != nil {
			return err
		}
		p.time = t
	}
	p.payload = append(p.payload, line...)
	return nil
}

// personTime returns the time of "Name <mail> 1700000000 +0100".
func personTime(s string) (int64, error) {
	f := strings.Fields(s[strings.LastIndexByte(s, '>')+1:])
	if len(f) == 2 {
		if t, err := strconv.ParseInt(f[0], 10, 64); err == nil && t >= 0 {
			return t, nil
		}
	}
	return 0, errors.New("its commit has no valid time")
}

// signedBy returns the trusted signer of a commit.
func (c commit) signedBy(t Trust) (Signed, error) {
	if c.signature == nil {
		return Signed{}, errors.New("its commit is not signed, and this target accepts only signed commits. Sign with: git commit -S, after git config gpg.format ssh and git config user.signingkey FILE.pub")
	}
	if t.Now != 0 && c.time > t.Now+ahead {
		return Signed{}, fmt.Errorf(
			"its commit is from the future, %s. Correct the clock of the machine that made it, or of this target",
			day(c.time))
	}
	key, err := verifySSH(c.signature, c.payload, CommitNamespace)
	if err != nil {
		return Signed{}, err
	}
	by, err := t.Signers.find(key, CommitNamespace, c.time)
	return Signed{By: by, Key: ssh.FingerprintSHA256(key), Time: c.time, Subject: c.subject}, err
}
