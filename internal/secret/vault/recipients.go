package vault

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"filippo.io/age"
	"filippo.io/age/agessh"
)

// Kinds of recipients.
const (
	User = "user"
	Host = "host"
	// Hub is a hub that does tasks. It can decrypt only secrets that match its patterns, which it must have. Hosts cannot
	// decrypt these secrets.
	Hub = "hub"
)

// Recipient is a user, a host or a hub that can decrypt secrets, one line of the recipients file.
type Recipient struct {
	Kind string // User, Host or Hub
	Name string
	Key  string // age1… or ssh-ed25519 …, public
	// Only are patterns of the names of the secrets that it can decrypt. Without patterns, a user can decrypt all secrets,
	// and a host all secrets except secrets of hubs.
	Only []string
}

// Recipients are the recipients file of a repository, in its order.
type Recipients []Recipient

const recipientsHead = `# The keys that can decrypt the secrets of this repository. One per line:
#   user|host|hub NAME KEY [only PATTERN…]
# Change it with fettle secret add-recipient and delete-recipient.
`

var namePattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_@.-]{1,128}$`) })

// ParseRecipients reads the file. The error contains the line number and the remedy.
func ParseRecipients(text []byte) (Recipients, error) {
	var out Recipients
	sc := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; sc.Scan(); n++ {
		line := strings.TrimSpace(sc.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		r, err := parseLine(line)
		if err == nil && out.find(r.Kind, r.Name) >= 0 {
			err = fmt.Errorf("%s %s exists twice; remove one of the two lines", r.Kind, r.Name)
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read %s, line %d: %w", RecipientsFile, n, err)
		}
		out = append(out, r)
	}
	return out, sc.Err()
}

func parseLine(line string) (Recipient, error) {
	words, only, limited := strings.Cut(line, " only ")
	f := strings.Fields(words)
	if len(f) < 3 {
		return Recipient{}, fmt.Errorf("write it as: user NAME KEY, or: host NAME KEY, or: hub NAME KEY only PATTERN")
	}
	r := Recipient{Kind: f[0], Name: f[1], Key: f[2]}
	if strings.HasPrefix(f[2], "ssh-") && len(f) > 3 {
		r.Key = f[2] + " " + f[3] // the rest is the key's comment
	} else if len(f) > 3 {
		return r, fmt.Errorf("%q follows the key; write patterns after the word only", f[3])
	}
	if limited {
		r.Only = strings.Fields(only)
	}
	return r, r.check()
}

func (r Recipient) check() error {
	switch {
	case r.Kind != User && r.Kind != Host && r.Kind != Hub:
		return fmt.Errorf("%q is not user, host or hub", r.Kind)
	case r.Kind == Hub && len(r.Only) == 0:
		return errors.New("a hub must have patterns: hosts cannot decrypt the secrets of hubs. Add --only 'hubs/*'")
	case !namePattern().MatchString(r.Name):
		return fmt.Errorf("%q is not a name: use letters, digits, _ @ . and -", r.Name)
	}
	for _, p := range r.Only {
		if _, err := path.Match(p, ""); err != nil || strings.ContainsAny(p, "\n\r#") {
			return fmt.Errorf("%q is not a pattern: write for example db/*", p)
		}
	}
	_, err := parseKey(r.Key)
	return err
}

// parseKey reads a public key: age's own, hybrid or not, or ssh-ed25519.
func parseKey(key string) (age.Recipient, error) {
	switch {
	case strings.HasPrefix(key, "ssh-ed25519 "):
		r, err := agessh.ParseRecipient(key)
		if err != nil {
			return nil, fmt.Errorf("%q is not an SSH key: use the line in id_ed25519.pub", key)
		}
		return r, nil
	case strings.HasPrefix(key, "AGE-SECRET-KEY-"):
		return nil, fmt.Errorf("this is a private key: use the public key, which begins with age1")
	}
	list, err := age.ParseRecipients(strings.NewReader(key))
	if err != nil || len(list) != 1 {
		return nil, fmt.Errorf("%q is not a key: keys begin with age1 or ssh-ed25519", key)
	}
	return list[0], nil
}

// Text is the file as it is written.
func (rs Recipients) Text() []byte {
	b := bytes.NewBufferString(recipientsHead)
	for _, r := range rs {
		fmt.Fprintf(b, "%s %s %s", r.Kind, r.Name, r.Key)
		if len(r.Only) > 0 {
			fmt.Fprintf(b, " only %s", strings.Join(r.Only, " "))
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

func (rs Recipients) find(kind, name string) int {
	return slices.IndexFunc(rs, func(r Recipient) bool { return r.Kind == kind && r.Name == name })
}

// With adds a recipient, or takes the place of the one of that kind and name.
func (rs Recipients) With(r Recipient) (Recipients, error) {
	r.Key = strings.TrimSpace(r.Key)
	if f := strings.Fields(r.Key); len(f) > 2 && strings.HasPrefix(r.Key, "ssh-") {
		r.Key = f[0] + " " + f[1]
	}
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("cannot add %s %s: %w", r.Kind, r.Name, err)
	}
	out := slices.Clone(rs)
	if i := out.find(r.Kind, r.Name); i >= 0 {
		out[i] = r
		return out, nil
	}
	return append(out, r), nil
}

// Without takes every recipient of that name away; an error when there is none.
func (rs Recipients) Without(name string) (Recipients, error) {
	out := slices.DeleteFunc(slices.Clone(rs), func(r Recipient) bool { return r.Name == name })
	if len(out) == len(rs) {
		return nil, fmt.Errorf("cannot remove %q: it is not a recipient; to list the recipients: fettle secret list", name)
	}
	return out, nil
}

// For returns the recipients that can decrypt a secret. Hosts cannot decrypt a secret of hubs. For "", the sealing key,
// these are all users and hosts.
func (rs Recipients) For(secret string) Recipients {
	if secret == "" {
		return slices.DeleteFunc(slices.Clone(rs), func(r Recipient) bool { return r.Kind == Hub })
	}
	out := slices.DeleteFunc(slices.Clone(rs), func(r Recipient) bool { return !r.opens(secret) })
	if slices.ContainsFunc(out, func(r Recipient) bool { return r.Kind == Hub }) {
		out = slices.DeleteFunc(out, func(r Recipient) bool { return r.Kind == Host })
	}
	return out
}

func (r Recipient) opens(secret string) bool {
	return len(r.Only) == 0 || slices.ContainsFunc(r.Only, func(p string) bool {
		ok, _ := path.Match(p, secret)
		return ok
	})
}
