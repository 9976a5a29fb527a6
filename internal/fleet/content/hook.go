package content

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"net/http"
	"strings"
)

// HookPath is where a git server tells that a repository has changed: HookPath + the
// source's name.
const HookPath = "/v1/hook/"

// maxHook bounds what a git server sends, in bytes. It is digested, not kept.
const maxHook = 32 << 20

// Hooks takes the webhooks of GitHub, Gitea, Forgejo and GitLab. One that is proved
// makes its source be asked, nothing else: what it says is not even read. So whoever
// steals the secret can only make a hub ask.
type Hooks struct {
	// Secret is that of a source, without blanks around it; nil where hooks are not taken.
	Secret func(source string) []byte
	// Poke makes a source be asked soon.
	Poke func(source string)
}

// ServeHTTP implements http.Handler.
func (h Hooks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	source, ok := strings.CutPrefix(r.URL.Path, HookPath)
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", "POST")
		http.Error(w, "a hook is a POST", http.StatusMethodNotAllowed)
		return
	}
	var secret []byte
	if ok && source != "" {
		secret = h.Secret(source)
	}
	// An empty secret proves nothing.
	if mac := hmac.New(sha256.New, secret); len(secret) == 0 || !proved(w, r, secret, mac) {
		http.Error(w, "there is no such hook, or its secret is another", http.StatusForbidden)
		return
	}
	h.Poke(source)
	w.WriteHeader(http.StatusNoContent)
}

// proved tells whether the one who sends knows the secret.
func proved(w http.ResponseWriter, r *http.Request, secret []byte, mac hash.Hash) bool {
	if token := r.Header.Get("X-Gitlab-Token"); token != "" {
		return hmac.Equal(tokenSum(secret, []byte(token)), tokenSum(secret, secret))
	}
	sent, github := strings.CutPrefix(r.Header.Get("X-Hub-Signature-256"), "sha256=")
	if !github {
		sent = r.Header.Get("X-Gitea-Signature")
	}
	want, err := hex.DecodeString(sent)
	if err != nil || len(want) != sha256.Size {
		return false
	}
	if _, err := io.Copy(mac, http.MaxBytesReader(w, r.Body, maxHook)); err != nil {
		return false
	}
	return hmac.Equal(mac.Sum(nil), want)
}

// tokenSum makes texts of any length comparable in constant time.
func tokenSum(secret, text []byte) []byte {
	m := hmac.New(sha256.New, secret)
	m.Write(text)
	return m.Sum(nil)
}
