package content_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/content"
)

const beginSignature = "-----BEGIN SSH SIGNATURE-----"

func restart() content.Command {
	return content.Command{
		Fleet: fleetFile, Targets: []string{"web1", "web2"}, Call: "command",
		Params: json.RawMessage(`{"command":{"argv":[["systemctl","restart","nginx"]],"env":["A=b"],"user":"www","timeout_ns":5,"stdin":"aGk="},"options":{"User":"ann","FrozenToo":false},"shows":true}`),
		From:   now - 60, Until: now + 60,
	}
}

func signingKey(t testing.TB, file string) content.SigningKey {
	t.Helper()
	private, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	k, err := content.ReadSigningKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func signedCommand(t testing.TB, file string, c content.Command) string {
	t.Helper()
	signed, err := c.Sign(signingKey(t, file))
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

func commandTrust(s content.Signers) content.CommandTrust {
	return content.CommandTrust{Signers: s, Fleets: []string{fleetFile}, Target: "web1", Now: now}
}

func TestSignedCommands(t *testing.T) {
	for _, kind := range []string{"ed25519", "ecdsa", "rsa"} {
		key, line := newKey(t, kind)
		want := restart()
		want.Params = json.RawMessage(`{"stdin":"` + beginSignature + `"}`)
		c, by, err := content.VerifyCommand(signedCommand(t, key, want), commandTrust(signers(t, line)))
		if err != nil || by != "ann@example.org" || c.Call != want.Call || string(c.Params) != string(want.Params) {
			t.Errorf("%s: %+v, %s, %v", kind, c, by, err)
		}
	}
	// ssh-keygen signs the same text.
	key, line := newKey(t, "ed25519")
	c := restart()
	c.ID = strings.Repeat("0f", 16)
	text, err := c.Text()
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := content.VerifyCommand(sign(t, key, content.CommandNamespace, text),
		commandTrust(signers(t, line))); err != nil {
		t.Error(err)
	}
}

// A command is accepted only for the fleet, target and time for which it was signed.
func TestSignedCommandsForOthers(t *testing.T) {
	key, line := newKey(t, "ed25519")
	for name, c := range map[string]struct {
		change func(*content.Command)
		want   string
	}{
		"another fleet": {func(c *content.Command) { c.Fleet = "fleet-sha256-00" }, "it is for another fleet"},
		"no fleet":      {func(c *content.Command) { c.Fleet = "" }, "it is for another fleet"},
		"another target": {func(c *content.Command) { c.Targets = []string{"db1"} },
			`it is for ["db1"], and this host enrolled as "web1"`},
		"many others":      {func(c *content.Command) { c.Targets = []string{"a", "b", "c", "d", "e"} }, "and 2 more"},
		"a pattern":        {func(c *content.Command) { c.Targets = []string{"web*", "*"} }, "this host enrolled as"},
		"no target":        {func(c *content.Command) { c.Targets = nil }, "this host enrolled as"},
		"expired":          {func(c *content.Command) { c.Until = now }, "it was valid until"},
		"the future":       {func(c *content.Command) { c.From = now + 1 }, "Compare the clocks"},
		"too long":         {func(c *content.Command) { c.Until = c.From + content.MaxCommandLife + 1 }, "more than 91 days"},
		"before all times": {func(c *content.Command) { c.From = -1 << 63 }, "more than 91 days"},
	} {
		command := restart()
		c.change(&command)
		_, _, err := content.VerifyCommand(signedCommand(t, key, command), commandTrust(signers(t, line)))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "ann@example.org") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A command needs a key that is trusted for commands, at the time of the host.
func TestKeysOfCommands(t *testing.T) {
	key, line := newKey(t, "ed25519")
	other, _ := newKey(t, "ed25519")
	line = strings.TrimPrefix(line, "ann@example.org ")
	for options, want := range map[string]string{
		``:                               "",
		`namespaces="fettle-command@v1"`: "",
		`namespaces="git,fettle-*"`:      "",
		`valid-before="20231116020001"`:  "",
		`namespaces="git"`:               "not for the namespace fettle-command@v1",
		`namespaces="fettle-rollback"`:   "not for the namespace fettle-command@v1",
		`namespaces="fettle-command@v2"`: "not for the namespace fettle-command@v1",
		`valid-after="20231116020001"`:   "not valid yet",
		`valid-before="20231116020000"`:  "no longer valid",
		`valid-before="20231116020000Z"`: "no longer valid",
	} {
		_, _, err := content.VerifyCommand(signedCommand(t, key, restart()),
			commandTrust(signers(t, "eve "+options+" "+line)))
		switch {
		case want != "":
			wantErr(t, err, want)
		case err != nil:
			t.Errorf("%s: %v", options, err)
		}
	}
	_, _, err := content.VerifyCommand(signedCommand(t, other, restart()), commandTrust(signers(t, "eve "+line)))
	wantErr(t, err, "not in signers")
	_, _, err = content.VerifyCommand(signedCommand(t, key, restart()), commandTrust(content.Signers{}))
	wantErr(t, err, "this target trusts no keys")
	text, err := func() ([]byte, error) { c := restart(); c.ID = strings.Repeat("a", 32); return c.Text() }()
	if err != nil {
		t.Fatal(err)
	}
	for _, namespace := range []string{"git", content.PermitNamespace, "file"} {
		_, _, err = content.VerifyCommand(sign(t, key, namespace, text), commandTrust(signers(t, "eve "+line)))
		wantErr(t, err, "is for the namespace")
	}
	_, _, err = content.VerifyCommand(string(text), commandTrust(signers(t, "eve "+line)))
	wantErr(t, err, "it has no signature")
}

// If a hub alters, drops or adds any value of a signed command, the signature is invalid.
func TestAlteredCommands(t *testing.T) {
	key, line := newKey(t, "ed25519")
	signed := signedCommand(t, key, restart())
	at := strings.LastIndex(signed, beginSignature)
	var document map[string]any
	if err := json.Unmarshal([]byte(signed[:at]), &document); err != nil {
		t.Fatal(err)
	}
	tried := 0
	alterations(document, func(what string) {
		tried++
		text, err := json.Marshal(document)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := content.VerifyCommand(string(text)+"\n"+signed[at:], commandTrust(signers(t, line))); err == nil ||
			!strings.Contains(err.Error(), "does not match this text") {
			t.Errorf("%s: %v", what, err)
		}
	})
	if tried < 40 {
		t.Errorf("%d alterations", tried)
	}
	for i := 0; i < at; i++ {
		if _, _, err := content.VerifyCommand(signed[:i]+"~"+signed[i+1:], commandTrust(signers(t, line))); err == nil {
			t.Errorf("the changed byte %d is accepted", i)
		}
	}
}

// alterations changes each value of a document in turn, drops it, and adds another.
func alterations(document map[string]any, changed func(what string)) {
	for _, name := range slices.Sorted(maps.Keys(document)) {
		had := document[name]
		for _, other := range othersOf(had) {
			document[name] = other
			changed(fmt.Sprintf("%s = %v", name, other))
		}
		delete(document, name)
		changed("without " + name)
		document[name] = had
		if inner, ok := had.(map[string]any); ok {
			alterations(inner, func(what string) { changed(name + "." + what) })
		}
	}
	document["more"] = true
	changed("with more")
	delete(document, "more")
}

func othersOf(v any) []any {
	switch v := v.(type) {
	case string:
		return []any{v + "x", ""}
	case float64:
		return []any{v + 1, -v}
	case bool:
		return []any{!v}
	case []any:
		return []any{append(slices.Clone(v), v[0]), v[1:]}
	}
	return []any{nil}
}

// A signed text that two parsers could read differently is refused.
func TestStrictCommands(t *testing.T) {
	key, line := newKey(t, "ed25519")
	c := restart()
	c.ID = strings.Repeat("a", 32)
	text, err := c.Text()
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"repeated field": {`"call":"command"`, `"call":"put","call":"command"`},
		"another case":   {`"call"`, `"Call"`},
		"unknown field":  {`"call"`, `"also":1,"call"`},
		"blanks":         {`"call":`, `"call": `},
		"more behind it": {"\n", "\n{}\n"},
		"another format": {"fettle.signed-command/1", "fettle.signed-command/2"},
		"a short ID":     {c.ID, "aa"},
		"a path as ID":   {c.ID, "../../../../../../../../../../etc"},
	} {
		altered := strings.Replace(string(text), change[0], change[1], 1)
		if altered == string(text) {
			t.Fatalf("%s changes nothing", name)
		}
		_, _, err := content.VerifyCommand(sign(t, key, content.CommandNamespace, []byte(altered)),
			commandTrust(signers(t, line)))
		if err == nil || !strings.Contains(err.Error(), "cannot read the signed command") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzReadCommand(f *testing.F) {
	key, line := newKey(f, "ed25519")
	f.Add(signedCommand(f, key, restart()))
	f.Add("{}\n" + beginSignature)
	trust := commandTrust(signers(f, line))
	f.Fuzz(func(t *testing.T, signed string) {
		c, err := content.ReadCommand(signed)
		if err == nil {
			text, err := c.Text()
			if err != nil || !strings.HasPrefix(signed, string(text)) {
				t.Errorf("%q was read as %q, %v", signed, text, err)
			}
		}
		if v, _, err := content.VerifyCommand(signed, trust); err == nil && string(v.Params) != string(restart().Params) {
			t.Errorf("accepted %q", signed)
		}
	})
}
