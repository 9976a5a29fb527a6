package web

import (
	"bytes"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"sync"
	"unicode"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/route"
)

//go:embed templates
var templateFiles embed.FS

// templates returns the parsed templates, by name. Each contains the layout and the common parts.
var templates = sync.OnceValue(func() map[string]*template.Template {
	layout := template.Must(template.New("layout").Funcs(functions()).ParseFS(templateFiles, "templates/layout.html",
		"templates/host.html"))
	out := map[string]*template.Template{}
	entries, err := templateFiles.ReadDir("templates")
	if err != nil {
		panic(err) // the files are in the binary
	}
	for _, e := range entries {
		name, ok := cutSuffix(e.Name())
		if !ok || name == "layout" || name == "host" {
			continue
		}
		out[name] = template.Must(template.Must(layout.Clone()).ParseFS(templateFiles, "templates/"+e.Name()))
	}
	return out
})

// serve answers with a whole page.
func (s *Site) serve(w http.ResponseWriter, r *http.Request, f pageFunc) {
	v, p, status := s.read(r, f)
	s.shared.Forget(shareKey(v))
	if status == http.StatusUnauthorized && s.Unauthenticated != nil {
		s.Unauthenticated(w, r)
		return
	}
	if p.Picture != nil {
		servePicture(w, r, p.Picture)
		return
	}
	text, err := s.render("page", v, p, takeFlash(w, r))
	if err != nil {
		http.Error(w, "cannot render the page: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	writeCompressed(w, r, status, text)
}

// render returns a page, or only its main part.
func (s *Site) render(part string, v *visit, p *page, flash string) ([]byte, error) {
	t := templates()[p.Template]
	if t == nil {
		return nil, fmt.Errorf("there is no template %q", p.Template)
	}
	var b bytes.Buffer
	err := t.ExecuteTemplate(&b, part, shown{page: p, User: v.user, Now: v.now, Path: v.URL.RequestURI(),
		SignOut: s.SignOut, Flash: flash, Host: s.Host})
	return visible(b.Bytes()), err
}

// visible replaces control characters and marks that change the direction of text. Otherwise a text of an agent could
// reverse the text around it.
func visible(page []byte) []byte {
	return bytes.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return unicode.ReplacementChar
		}
		return r
	}, page)
}

// open returns the visit of a request.
func (s *Site) open(r *http.Request) (*visit, error) {
	v := &visit{Request: r, now: s.Now(), asks: &s.asks, host: s.Host, runs: s.runs}
	var err error
	if v.client, err = s.Client(r); err != nil {
		return v, err
	}
	v.user, err = client.Get(r.Context(), v.client, route.WhoAmI())
	return v, err
}

// read reads a page. An error becomes a page that describes it.
func (s *Site) read(r *http.Request, f pageFunc) (*visit, *page, int) {
	v, err := s.open(r)
	var p *page
	if err == nil {
		p, err = f(v)
	}
	if err == nil {
		return v, p, http.StatusOK
	}
	problem := problemOf(err)
	return v, &page{Title: problem.Title, Template: "problem", Problem: problem}, problem.Status
}

// flashCookie contains a text that the next page shows once: the result of a change.
const flashCookie = "fettle-result"

func setFlash(w http.ResponseWriter, text string) {
	if len(text) > 2000 {
		text = text[:2000]
	}
	http.SetCookie(w, &http.Cookie{Name: flashCookie, Value: base64.RawURLEncoding.EncodeToString([]byte(text)),
		Path: "/", MaxAge: 60, HttpOnly: true, SameSite: http.SameSiteStrictMode})
}

// takeFlash returns the text, and removes it.
func takeFlash(w http.ResponseWriter, r *http.Request) string {
	c, err := r.Cookie(flashCookie)
	if err != nil {
		return ""
	}
	http.SetCookie(w, &http.Cookie{Name: flashCookie, Path: "/", MaxAge: -1, HttpOnly: true,
		SameSite: http.SameSiteStrictMode})
	text, err := base64.RawURLEncoding.DecodeString(c.Value)
	if err != nil {
		return ""
	}
	return string(text)
}
