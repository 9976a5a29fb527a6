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
	hold chan struct{}     // nothing is answered before it is closed; nil holds nothing
	came chan struct{}     // told of each request that is held
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := filepath.Base(r.URL.Path)
	if s.hold != nil {
		s.came <- struct{}{}
		<-s.hold
	}
	switch text, ok := s.text[name]; {
	case s.gone[name]:
		http.NotFound(w, r)
	case ok:
		fmt.Fprint(w, text)
	default:
		http.ServeFile(w, r, filepath.Join(s.dir, name))
	}
}

// serve makes a server one of the host's archives, until the test ends.
func (m *machine) serve(s *server) *http.Server {
	m.t.Helper()
	l, err := net.Listen("tcp", m.Addr[:strings.LastIndexByte(m.Addr, '.')]+".254:0")
	if err != nil {
		m.t.Fatal(err)
	}
	web := &http.Server{Handler: s}
	go web.Serve(l)
	m.t.Cleanup(func() { web.Close() })
	m.WriteFile(m.t, "/etc/apt/sources.list.d/remote.list", "deb [trusted=yes] http://"+l.Addr().String()+"/ ./\n", 0o644)
	return web
}

// listsLocked: while somebody else fetches the lists, apt-get update waits.
func listsLocked(m *machine) {
	r := hosts.NewRepo(m.t)
	deb := r.Add(m.t, hosts.Deb{Name: "remote", Version: "1.0"})
	r.Publish(m.t)
	s := &server{dir: filepath.Dir(deb), hold: make(chan struct{}), came: make(chan struct{}, 100)}
	m.serve(s)
	_, _, updated := m.begin("apt-get", "update")
	<-s.came
	m.only(`
apt_source "more" {
  uris    = ["file:/srv/repo"]
  suites  = ["./"]
  trusted = true
}
`)
	cmd, out, done := m.begin(argv("apply", "--yes")...)
	m.await("the update", func() bool {
		return strings.Contains(out.String(),
			"+ file:/etc/apt/sources.list.d/more.sources")
	})
	m.fettle(success, "status")
	close(s.hold)
	<-updated
	<-done
	if code := cmd.ProcessState.ExitCode(); code != success {
		m.t.Errorf("exit code %d\n%s", code, out)
	}
	m.Run(m.t, "rm", "/etc/apt/sources.list.d/remote.list")
	m.apply(success, "")
}

// archiveGone: an archive that lost a file, has another in its place, or is not
// there at all: said in short, with what to do, and nothing has changed.
func archiveGone(m *machine) {
	r := hosts.NewRepo(m.t)
	deb := r.Add(m.t, hosts.Deb{Name: "remote", Version: "1.0"})
	r.Publish(m.t)
	s := &server{dir: filepath.Dir(deb), gone: map[string]bool{}, text: map[string]string{}}
	web := m.serve(s)
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
	m.unchanged(list, `apt knows no package "remote"`)
}
