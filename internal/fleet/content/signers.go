package content

import (
	"crypto/rsa"
	"encoding/base64"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// Signers are trusted keys: a file in the format of OpenSSH's allowed_signers, which git uses too.
// The zero value trusts no key. It is immutable.
type Signers struct {
	file string
	list []signer
}

type signer struct {
	principals    string
	key           ssh.PublicKey
	namespaces    []string // patterns; none means all
	after, before int64    // seconds since 1970; 0 means no limit
	line          int
}

// minRSA is the minimum number of bits of an RSA key.
const minRSA = 2048

// ParseSigners parses a file of signers; name is for messages. A line is
//
//	PRINCIPALS [namespaces="git"] [valid-after="20260101"] [valid-before="20270101"] KEY-TYPE KEY
//
// with # for comments. Times are UTC. Certificate authorities are refused.
func ParseSigners(name string, text []byte) (Signers, error) {
	out := Signers{file: name}
	var wrong []error
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		s, err := parseSigner(line)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("cannot read %s:%d: %w", name, i+1, err))
			continue
		}
		s.line = i + 1
		out.list = append(out.list, s)
	}
	return out, errors.Join(wrong...)
}

func parseSigner(line string) (s signer, err error) {
	fields := splitQuoted(line)
	if len(fields) < 3 {
		return s, errors.New("a line is: name key-type key, as in: ann@example.org ssh-ed25519 AAAA…")
	}
	s.principals = strings.Trim(fields[0], `"`)
	rest := fields[1:]
	if algorithms[rest[0]] == nil && len(rest) > 2 {
		if err := s.options(rest[0]); err != nil {
			return s, err
		}
		rest = rest[1:]
	}
	if algorithms[rest[0]] == nil {
		return s, fmt.Errorf(
			"%.60q is not a supported key type. Use for example ssh-ed25519, ecdsa-sha2-nistp256 or ssh-rsa", rest[0])
	}
	raw, err := base64.StdEncoding.DecodeString(rest[1])
	if err == nil {
		s.key, err = ssh.ParsePublicKey(raw)
	}
	if err != nil || s.key.Type() != rest[0] {
		return s, errors.New("its key cannot be read: copy the whole line of the .pub file")
	}
	return s, checkStrength(s.key)
}

func checkStrength(key ssh.PublicKey) error {
	if c, ok := key.(ssh.CryptoPublicKey); ok {
		if k, ok := c.CryptoPublicKey().(*rsa.PublicKey); ok && k.N.BitLen() < minRSA {
			return fmt.Errorf("its RSA key has %d bits, fewer than %d. Create a new key: ssh-keygen -t ed25519", k.N.BitLen(),
				minRSA)
		}
	}
	return nil
}

// splitQuoted splits at blanks outside of quotes.
func splitQuoted(line string) []string {
	quoted := false
	return strings.FieldsFunc(line, func(r rune) bool {
		if r == '"' {
			quoted = !quoted
		}
		return !quoted && (r == ' ' || r == '\t')
	})
}

func (s *signer) options(text string) error {
	quoted := false
	for _, o := range strings.FieldsFunc(text, func(r rune) bool {
		if r == '"' {
			quoted = !quoted
		}
		return !quoted && r == ','
	}) {
		name, value, _ := strings.Cut(o, "=")
		value = strings.Trim(value, `"`)
		var err error
		switch strings.ToLower(name) {
		case "namespaces":
			s.namespaces = strings.Split(value, ",")
		case "valid-after":
			s.after, err = parseTime(value)
		case "valid-before":
			s.before, err = parseTime(value)
		case "cert-authority":
			err = errors.New("certificate authorities are not supported. Write each key on a line of its own")
		default:
			err = fmt.Errorf("%.40q is not an option. The options are namespaces, valid-after and valid-before", name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func parseTime(s string) (int64, error) {
	short := strings.TrimSuffix(s, "Z")
	for _, layout := range []string{"20060102", "200601021504", "20060102150405"} {
		if len(layout) == len(short) {
			if t, err := time.Parse(layout, short); err == nil {
				return t.Unix(), nil
			}
		}
	}
	return 0, fmt.Errorf("%.40q is not a time. Write YYYYMMDD or YYYYMMDDHHMM", s)
}

// Empty returns true if no key is trusted.
func (s Signers) Empty() bool { return len(s.list) == 0 }

// find returns the principals of a key if it is trusted in a namespace at a time, in seconds since
// 1970. The error contains the reason.
func (s Signers) find(key ssh.PublicKey, namespace string, at int64) (principals string, err error) {
	name := "the key " + ssh.FingerprintSHA256(key)
	if s.Empty() {
		return "", fmt.Errorf("%s signed it, and this target trusts no keys: add the trusted keys to %s", name, s.fileName())
	}
	err = fmt.Errorf("%s signed it, which is not in %s. If you trust this key, add a line: NAME %s", name, s.fileName(),
		publicLine(key))
	for _, l := range s.list {
		if string(l.key.Marshal()) != string(key.Marshal()) {
			continue
		}
		switch {
		case len(l.namespaces) > 0 && !slices.ContainsFunc(l.namespaces,
			func(p string) bool { ok, _ := path.Match(p, namespace); return ok }):
			err = fmt.Errorf("%s of %s is not for the namespace %s: see %s:%d", name, l.principals, namespace, s.fileName(),
				l.line)
		case at < l.after:
			err = fmt.Errorf("%s of %s was not valid yet on %s: see %s:%d", name, l.principals, day(at), s.fileName(), l.line)
		case l.before != 0 && at >= l.before:
			err = fmt.Errorf("%s of %s was no longer valid on %s: see %s:%d", name, l.principals, day(at), s.fileName(), l.line)
		default:
			return l.principals, nil
		}
	}
	return "", err
}

func (s Signers) fileName() string {
	if s.file == "" {
		return "the file of trusted keys"
	}
	return s.file
}

func day(at int64) string { return time.Unix(at, 0).UTC().Format("2006-01-02 15:04:05 UTC") }
