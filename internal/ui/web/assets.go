package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"
)

//go:embed assets
var assetFiles embed.FS

// assetDigests returns a digest of each file below assets. The address of a file contains it, so a file
// with another content has another address.
var assetDigests = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	entries, err := assetFiles.ReadDir("assets")
	if err != nil {
		panic(err) // the files are in the binary
	}
	for _, e := range entries {
		text, err := assetFiles.ReadFile("assets/" + e.Name())
		if err != nil {
			panic(err)
		}
		sum := sha256.Sum256(text)
		out[e.Name()] = hex.EncodeToString(sum[:8])
	}
	return out
})

// asset returns the address of a file below assets.
func asset(name string) string { return "/assets/" + assetDigests()[name] + "/" + name }

func serveAsset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	if digest := assetDigests()[name]; digest == "" || digest != r.PathValue("digest") {
		http.NotFound(w, r)
		return
	}
	text, err := assetFiles.ReadFile("assets/" + name)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	w.Header().Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
	writeCompressed(w, r, http.StatusOK, text)
}

// writeCompressed writes an answer, compressed if the browser accepts it.
func writeCompressed(w http.ResponseWriter, r *http.Request, status int, text []byte) {
	w.Header().Set("Vary", "Accept-Encoding")
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") && len(text) > 1024 {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write(text) // a buffer accepts all
		_ = z.Close()
		text = b.Bytes()
		w.Header().Set("Content-Encoding", "gzip")
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Minute)) // writers of tests have none
	w.WriteHeader(status)
	_, _ = w.Write(text) // if it fails, the browser is gone
}

func cutSuffix(file string) (name string, ok bool) { return strings.CutSuffix(file, ".html") }
