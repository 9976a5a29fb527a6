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

// HookPath is the URL path of webhooks, with which a git server reports a change of a repository:
// HookPath + the name of the source.
const HookPath = "/v1/hook/"

// maxHook is the maximum size of a webhook, in bytes. It is hashed, not stored.
const maxHook = 32 << 20

// Hooks receives the webhooks of GitHub, Gitea, Forgejo and GitLab. A webhook with the secret only
// makes its source due; its content is not used. A stolen secret can therefore only cause polls.
type Hooks struct {
	// Secret returns the secret of a source, without surrounding blanks, or nil if webhooks are
	// disabled.
	Secret func(source string) []byte
	// Poke must cause a poll of the source soon.
	Poke func(source string)
}

// ServeHTTP implements http.Handler.
func (h Hooks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	source, ok := strings.CutPrefix(r.URL.Path, HookPath)
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", "POST")
		http.Error(w, "a webhook must use POST", http.StatusMethodNotAllowed)
		return
	}
	var secret []byte
	if ok && source != "" {
		secret = h.Secret(source)
	}
	// An empty secret never authenticates.
	if mac := hmac.New(sha256.New, secret); len(secret) == 0 || !proved(w, r, secret, mac) {
		http.Error(w, "this webhook does not exist, or its secret is wrong", http.StatusForbidden)
		return
	}
	h.Poke(source)
	w.WriteHeader(http.StatusNoContent)
}

// proved returns true if the sender has the secret.
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
