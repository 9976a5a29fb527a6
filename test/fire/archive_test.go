package fire

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"fettle.dev/fettle/test/hosts"
)

// server is an archive over HTTP, of which single files can be changed.
type server struct {
	dir  string
	gone map[string]bool   // not found
	text map[string]string // in the place of the file
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := filepath.Base(r.URL.Path)
	switch text, ok := s.text[name]; {
	case s.gone[name]:
		http.NotFound(w, r)
	case ok:
		fmt.Fprint(w, text)
	default:
		http.ServeFile(w, r, filepath.Join(s.dir, name))
	}
}

// archiveGone: an archive that lost a file, has another in its place, or is not
// there at all: said in short, with what to do, and nothing has changed.
func archiveGone(m *machine) {
	r := hosts.NewRepo(m.t)
	deb := r.Add(m.t, hosts.Deb{Name: "remote", Version: "1.0"})
	r.Publish(m.t)
	s := &server{dir: filepath.Dir(deb), gone: map[string]bool{}, text: map[string]string{}}
	l, err := net.Listen("tcp", m.Addr[:strings.LastIndexByte(m.Addr, '.')]+".254:0")
	if err != nil {
		m.t.Fatal(err)
	}
	web := &http.Server{Handler: s}
	go web.Serve(l)
	defer web.Close()
	m.WriteFile(m.t, "/etc/apt/sources.list.d/remote.list", "deb [trusted=yes] http://"+l.Addr().String()+"/ ./\n", 0o644)
	m.update()
	const list = `package "remote" {}`
	name := filepath.Base(deb)

	s.gone[name] = true
	m.unchanged(list, "404  Not Found", name, "Run apt-get update")
	delete(s.gone, name)

	b, err := os.ReadFile(deb)
	if err != nil {
		m.t.Fatal(err)
	}
	s.text[name] = strings.Replace(string(b), "Test", "Evil", 1)
	m.unchanged(list, "Hash Sum mismatch", name)
	s.text[name] = string(b[:len(b)/2])
	m.unchanged(list, name)
	delete(s.text, name)

	web.Close()
	m.unchanged(list, "Could not connect", "cannot be reached")
	m.Run(m.t, "rm", "/etc/apt/sources.list.d/remote.list")
	m.update()
	m.unchanged(list, "Unable to locate package remote")
}
