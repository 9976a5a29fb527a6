package content_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/content"
)

const now = 1_700_100_000

// TestVerify: signatures of git and ssh-keygen are accepted, with every supported kind of key and
// in both object formats, if the key is trusted.
func TestVerify(t *testing.T) {
	stranger, _ := newKey(t, "ed25519")
	for _, c := range []struct {
		format string
		key    []string
	}{
		{"sha1", []string{"ed25519"}}, {"sha256", []string{"ed25519"}}, {"sha1", []string{"ecdsa", "-b", "256"}},
		{"sha1", []string{"ecdsa", "-b", "521"}}, {"sha256", []string{"rsa", "-b", "2048"}},
	} {
		t.Run(c.format+" "+strings.Join(c.key, ""), func(t *testing.T) {
			g := site(t, "--object-format="+c.format)
			var line string
			g.key, line = newKey(t, c.key...)
			p := g.pack(g.commit("first\n\nwith a body"))
			believed := content.Trust{Signers: signers(t, "# who writes", "bob@example.org "+other(t), line),
				Fleets: []string{fleetFile}, Now: now}
			for _, a := range p.parts {
				a, b, proof := p.part(t, a.Module)
				s, err := content.Verify(proof, b, claim(a), believed)
				if err != nil || s.By != "ann@example.org" || s.Subject != "first" || s.Time != g.when ||
					!strings.HasPrefix(s.Key, "SHA256:") {
					t.Errorf("%q: %+v, %v", a.Module, s, err)
				}
			}
			g.key = stranger
			a, b, proof := g.pack(g.commit("second")).part(t, content.RootBundle)
			_, err := content.Verify(proof, b, claim(a), believed)
			wantErr(t, err, "cannot trust", "which is not in signers", "ssh-ed25519 ")
			g.key = ""
			a, b, proof = g.pack(g.commit("third")).part(t, "modules/web")
			_, err = content.Verify(proof, b, claim(a), believed)
			wantErr(t, err, "modules/web", "is not signed", "git commit -S")
		})
	}
}

// other returns the line of another key, without a name.
func other(t testing.TB) string {
	_, line := newKey(t, "ed25519")
	return strings.TrimPrefix(line, "ann@example.org ")
}

func wantErr(t testing.TB, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error; want one with %q", parts)
		return
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("the error has no %q: %v", p, err)
		}
	}
}

func TestValidity(t *testing.T) {
	g := site(t)
	var line string
	g.key, line = newKey(t, "ed25519")
	a, b, proof := g.pack(g.commit("first")).part(t, content.RootBundle)
	key := strings.TrimPrefix(line, "ann@example.org ")
	for options, want := range map[string]string{
		`namespaces="git"`: "",
		`namespaces="file,g*",valid-after="20200101"`:    "",
		`valid-after="20231114",valid-before="20231115"`: "",
		`valid-before="20231114000000Z"`:                 "no longer valid on 2023-11-14 22:14:20 UTC: see signers:1",
		`valid-after="202311142230"`:                     "not valid yet",
		`namespaces="file"`:                              "not for the namespace git",
	} {
		_, err := content.Verify(proof, b, claim(a), content.Trust{Signers: signers(t, "ann@example.org "+options+" "+key),
			Fleets: []string{fleetFile}, Now: now})
		if want == "" && err != nil {
			t.Errorf("%s: %v", options, err)
		} else if want != "" {
			wantErr(t, err, want)
		}
	}
	_, err := content.Verify(proof, b, claim(a), content.Trust{})
	wantErr(t, err, "this target trusts no keys")
	_, err = content.Verify(proof, b, claim(a), content.Trust{Signers: signers(t, line), Fleets: []string{fleetFile},
		Now: g.when - 100_000})
	wantErr(t, err, "from the future")
}

// The author is read from the commit of the proof, signed or not, and from no other commit.
func TestAuthorOfAProof(t *testing.T) {
	g := site(t)
	first := g.commit("first")
	for _, part := range []string{content.RootBundle, "modules/web"} {
		a, _, proof := g.pack(first).part(t, part)
		if got := proof.Author(a.Revision.Commit); got != "Ann <ann@example.org>" {
			t.Errorf("%q has the author %q", part, got)
		}
		if got := proof.Author(g.commit("another")) + proof.Author("") + (content.Proof{}).Author(first); got != "" {
			t.Errorf("a proof of another commit has the author %q", got)
		}
	}
}

func TestSignersThatAreRefused(t *testing.T) {
	key := other(t)
	weak, _ := exec.Command("sh", "-c",
		"d=$(mktemp -d); ssh-keygen -q -t rsa -b 1024 -N '' -f $d/k && cat $d/k.pub; rm -r $d").Output()
	for text, want := range map[string]string{
		"ann":                          "signers:1: a line is",
		"ann ssh-ed25519 AAAA":         "cannot be read",
		"ann ssh-dss AAAA":             "not a supported key type",
		"ann cert-authority " + key:    "certificate authorities",
		"ann valid-after=\"x\" " + key: "is not a time",
		"ann shiny=\"x\" " + key:       "is not an option",
		"\n\nann " + key + "\nbob x y": "signers:4:",
		"ann ssh-rsa " + strings.TrimPrefix(key, "ssh-ed25519 "): "cannot be read",
	} {
		_, err := content.ParseSigners("signers", []byte(text))
		wantErr(t, err, want)
	}
	if len(weak) > 0 {
		_, err := content.ParseSigners("signers", []byte("ann "+string(weak)))
		wantErr(t, err, "1024 bits")
	}
}

// TestReplay: an older signed commit needs a permit for this repository, commit, target and time.
func TestReplay(t *testing.T) {
	g := site(t)
	var line string
	g.key, line = newKey(t, "ed25519")
	old := g.commit("old")
	p := g.pack(old)
	trust := content.Trust{Signers: signers(t, line), Fleets: []string{fleetFile}, Now: now}
	floors := content.MinimumCommits{}
	a, b, proof := p.part(t, "modules/web")
	first, err := content.Verify(proof, b, claim(a), trust)
	if err != nil {
		t.Fatal(err)
	}
	floors.Record("modules/web", first)
	g.write("modules/web/module.hcl", "# newer\n")
	na, nb, nproof := g.pack(g.commit("new")).part(t, "modules/web")
	trust.MinimumCommit = floors.Of("modules/web")
	newer, err := content.Verify(nproof, nb, claim(na), trust)
	if err != nil {
		t.Fatal(err)
	}
	floors.Record("modules/web", newer)
	trust.MinimumCommit = floors.Of("modules/web")
	_, err = content.Verify(proof, b, claim(a), trust)
	wantErr(t, err, "it is of 2023-11-14 22:14:20 UTC, and this target had a newer one of", "needs a permit")
	good := content.Permit{Repository: "site", Commit: old, Targets: []string{"db*", "label:env=prod"}, Expires: now + 60}
	for name, c := range map[string]struct {
		change func(*content.Permit)
		want   string
	}{
		"good":       {func(p *content.Permit) {}, ""},
		"pattern":    {func(p *content.Permit) { p.Targets = []string{"web*"} }, ""},
		"repository": {func(p *content.Permit) { p.Repository = "other" }, "for the repository"},
		"commit":     {func(p *content.Permit) { p.Commit = na.Revision.Commit }, "for the commit"},
		"expired":    {func(p *content.Permit) { p.Expires = now }, "Sign a new one"},
		"target":     {func(p *content.Permit) { p.Targets = []string{"db*", "label:env=test", "["} }, "not for this target"},
		"nobody":     {func(p *content.Permit) { p.Targets = nil }, "not for this target"},
	} {
		permit := good
		c.change(&permit)
		cl := claim(a)
		cl.Permit = sign(t, g.key, content.PermitNamespace, permit.Text())
		s, err := content.Verify(proof, b, cl, trust)
		if c.want != "" {
			wantErr(t, err, c.want)
		} else if err != nil || s.Permit != "ann@example.org" {
			t.Errorf("%s: %+v, %v", name, s, err)
		} else if floors.Record("modules/web", s); floors.Of("modules/web") != first.Time {
			t.Error("the floor did not go down to what was permitted")
		}
	}
	stranger, _ := newKey(t, "ed25519")
	for want, permit := range map[string]string{
		"not signed":               string(good.Text()),
		"which is not in signers":  sign(t, stranger, content.PermitNamespace, good.Text()),
		"namespace":                sign(t, g.key, "git", good.Text()),
		"does not match this text": strings.Replace(sign(t, g.key, content.PermitNamespace, good.Text()), "site", "sita", 1),
		"cannot be read":           sign(t, g.key, content.PermitNamespace, []byte(`{"format":"fettle.permit/2"}`)),
		"not an SSH signature":     string(good.Text()) + "-----BEGIN SSH SIGNATURE-----\nAAAA\n",
	} {
		cl := claim(a)
		cl.Permit = permit
		_, err := content.Verify(proof, b, cl, trust)
		wantErr(t, err, want)
	}
}

// sign signs a text with ssh-keygen, and returns the text with its signature.
func sign(t testing.TB, key, namespace string, text []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("ssh-keygen", "-q", "-Y", "sign", "-n", namespace, "-f", key,
		file).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	sig, err := os.ReadFile(file + ".sig")
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + string(sig)
}
