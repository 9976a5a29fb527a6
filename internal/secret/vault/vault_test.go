package vault_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/secret"
	"fettle.dev/fettle/internal/secret/vault"
)

func ExampleRecipients_For() {
	rs, err := vault.ParseRecipients(
		[]byte("host web1 age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p only web/*\n"))
	fmt.Println(len(rs.For("web/tls")), len(rs.For("db/password")), err)
	// Output: 1 0 <nil>
}

func one(t *testing.T) (vault.Identities, string) {
	t.Helper()
	file, public, err := vault.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	ids, err := vault.ParseIdentities(file, "x")
	if err != nil || vault.PublicOf(ids)[0] != public {
		t.Fatal(err)
	}
	return ids, public
}

// TestWhoOpens: a recipient can decrypt only secrets that are encrypted to it.
func TestWhoOpens(t *testing.T) {
	alice, alicePub := one(t)
	web, webPub := one(t)
	rs, err := vault.Recipients{}.With(vault.Recipient{Kind: "user", Name: "alice", Key: alicePub})
	if err == nil {
		rs, err = rs.With(vault.Recipient{Kind: "host", Name: "web", Key: webPub, Only: []string{"web/*"}})
	}
	if err != nil {
		t.Fatal(err)
	}
	if again, err := vault.ParseRecipients(rs.Text()); err != nil || fmt.Sprint(again) != fmt.Sprint(rs) {
		t.Errorf("%v, %v", again, err)
	}
	files := map[string]string{}
	for _, name := range []string{"web/tls", "db/password"} {
		b, err := vault.Seal([]byte("of "+name), rs.For(name))
		if err != nil {
			t.Fatal(err)
		}
		files[secret.PathOf(name)] = string(b)
	}
	key := secret.NewKey()
	b, err := vault.Seal(key.Text(), rs)
	if err != nil {
		t.Fatal(err)
	}
	files[vault.KeyFile] = string(b)
	for who, c := range map[string]struct {
		ids vault.Identities
		can string
	}{"alice": {alice, "web/tls db/password"}, "web": {web, "web/tls"}, "nobody": {nil, ""}} {
		v := vault.New(repo.MapTree(files), func() (vault.Identities, error) { return c.ids, nil })
		for _, name := range []string{"web/tls", "db/password"} {
			got, err := v.Secret(name)
			var closed *vault.NotOpenError
			switch can := strings.Contains(c.can, name); {
			case can && (err != nil || string(got) != "of "+name):
				t.Errorf("%s cannot open %s: %v", who, name, err)
			case !can && (!errors.As(err, &closed) || closed.None != (who == "nobody")):
				t.Errorf("%s opens %s: %v", who, name, err)
			}
		}
		if k, _, err := v.Key(); (err == nil && k == key) != (c.ids != nil) {
			t.Errorf("the key for %s: %v", who, err)
		}
		if _, err := v.Secret("none"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v", err)
		}
	}
	if gone, err := rs.Without("web"); err != nil || len(gone) != 1 {
		t.Errorf("%v %v", gone, err)
	}
}

// TestBadRecipients: a line that is wrong is named.
func TestBadRecipients(t *testing.T) {
	const key = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"
	for line, want := range map[string]string{
		"host web": "line 2", "dog x " + key: "is not user, host or hub", "host a/b " + key: "not a name",
		"host x age1": "not a key", "host x AGE-SECRET-KEY-1": "private key",
		"host x " + key + " more": "after the word only", "host x " + key + " only [": "not a pattern",
		"host web1 " + key: "exists twice",
	} {
		_, err := vault.ParseRecipients([]byte("host web1 " + key + "\n" + line + "\n"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", line, err)
		}
	}
	if _, err := vault.ParseIdentities([]byte("swordfish"), "FILE"); err == nil ||
		strings.Contains(err.Error(), "swordfish") {
		t.Errorf("%v", err)
	}
}

// TestSecretsOfHubs: hosts cannot decrypt a secret of hubs, and hubs no other secret.
func TestSecretsOfHubs(t *testing.T) {
	_, key := one(t)
	rs := vault.Recipients{{Kind: vault.User, Name: "ada", Key: key}, {Kind: vault.Host, Name: "web", Key: key},
		{Kind: vault.Hub, Name: "hub1", Key: key, Only: []string{"hubs/*"}}}
	for secret, want := range map[string]string{"hubs/tsig": "ada hub1", "db/password": "ada web", "": "ada web"} {
		var got []string
		for _, r := range rs.For(secret) {
			got = append(got, r.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q is for %v, want %s", secret, got, want)
		}
	}
	again, err := vault.ParseRecipients(rs.Text())
	if err != nil || len(again) != 3 {
		t.Errorf("%v, %v", again, err)
	}
	if _, err := rs.With(vault.Recipient{Kind: vault.Hub, Name: "hub2", Key: key}); err == nil ||
		!strings.Contains(err.Error(), "--only 'hubs/*'") {
		t.Errorf("a hub without patterns: %v", err)
	}
	if _, err := rs.With(vault.Recipient{Kind: "fleet", Name: "x", Key: key}); err == nil {
		t.Error("an unknown kind of recipient is accepted")
	}
}
