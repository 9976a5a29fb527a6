package e2e

import (
	"strings"
	"sync"
	"testing"

	"fettle.dev/fettle/test/hosts"
	"fettle.dev/fettle/test/sample"
)

// sharingRepository is one in which a load balancer uses what web servers export.
func sharingRepository() map[string]string {
	return map[string]string{
		"fettle.hcl": atOnce + `target_group "lb" {
  labels  = { role = "lb" }
  modules = ["lb"]
}
target_group "web" {
  labels  = { role = "web" }
  modules = ["web"]
}
`,
		"modules/web/module.hcl": `exec "address" {
  command = ["hostname", "-I"]
  output  = "stdout"
}
output "address" {
  value    = trimspace(exec.address.result)
  type     = string
  exported = true
}
`,
		"modules/lb/module.hcl": `exported "backends" {
  module   = "web"
  output   = "address"
  labels   = { role = "web" }
  at_least = 1
}
file "/etc/motd" { content = "a load balancer\n" }
file "/etc/backends.conf" {
  content = "%{ for name, address in exported.backends }server ${name} ${address}:80;\n%{ endfor }"
}
`,
	}
}

// TestFleetExports: a load balancer lists the web servers that there are. It waits for the
// first one, a new one appears in its file, a store that is lost takes none out of it, and
// one that is retired is out of it.
func TestFleetExports(t *testing.T) {
	sample.Group(t, 0)
	t.Parallel()
	repo := hosts.NewRepo(t)
	repo.AddDebian(t)
	repo.Publish(t)
	w := hosts.NewWorld(t)
	names := []string{"hub", "lb1", "web1", "web2"}
	ms := make([]*machine, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() { ms[i] = newMachine(t, w, name, repo) })
	}
	all.Wait()
	f := &fleetOf{t: t, hub: ms[0]}
	h, lb, web1, web2 := ms[0], ms[1], ms[2], ms[3]
	h.Run(t, "apt-get", "install", "-qy", "git")
	for name, text := range sharingRepository() {
		h.WriteFile(t, "/srv/site/"+name, text, 0o644)
	}
	h.Run(t, "git", "init", "-q", "-b", "main", "/srv/site")
	h.Run(t, "git", "-C", "/srv/site", "add", "-A")
	h.Run(t, "git", "-C", "/srv/site", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one")
	h.hubUser()
	h.Run(t, "fettle", "hub", "init", "--fleet", "acme", "--address", h.Addr, "--repository", "file:///srv/site",
		"--poll", "5s")
	h.units()
	h.Run(t, "systemctl", "enable", "--now", "fettle-hub")
	f.await("a token", func() bool { return f.token("role=web", "4") != "" })
	join := func(m *machine, labels string) {
		f.enrol(m, f.token(labels, "1"), 0)
		m.units()
		m.Run(t, "systemctl", "enable", "--now", "fettle-agent")
	}
	line := func(m *machine) string { return "server " + m.Name + " " + m.Addr + ":80;\n" }
	has := func(text string) {
		t.Helper()
		f.await("lb1 has "+text, func() bool { return lb.Exec("cat", "/etc/backends.conf").Stdout == text })
	}

	join(lb, "role=lb")
	f.await("it waits", func() bool {
		return strings.Contains(h.Exec("fettle", "target", "show", "lb1").Stdout,
			"waiting for a target to report web.address")
	})
	if out := lb.Run(t, "cat", "/etc/motd"); out != "a load balancer" && out != "a load balancer\n" {
		t.Errorf("what does not wait is not there: %q", out)
	}
	join(web1, "role=web")
	has(line(web1))
	join(web2, "role=web")
	has(line(web1) + line(web2))
	f.await("all are ready", func() bool {
		return strings.Contains(h.Exec("fettle", "status", "--fleet").Stdout,
			"3 ready")
	})
	if out := h.Run(t, "fettle", "export", "list"); !strings.Contains(out, "web1") || !strings.Contains(out, web2.Addr) {
		t.Errorf("%s", out)
	}
	t.Logf("\n%s", h.Run(t, "fettle", "export", "list"))

	h.Run(t, "systemctl", "stop", "fettle-hub")
	h.Run(t, "rm", "-r", "/var/lib/fettle-hub/bus")
	h.Run(t, "systemctl", "start", "fettle-hub")
	f.await("all are back", func() bool {
		if out := lb.Exec("cat", "/etc/backends.conf").Stdout; out != line(web1)+line(web2) {
			t.Fatalf("while values are told again lb1 has %q", out)
		}
		return strings.Count(h.Exec("fettle", "export", "list").Stdout, "address  1 ") == 2 &&
			strings.Contains(h.Exec("fettle", "status", "--fleet").Stdout, "3 ready")
	})

	h.Run(t, "fettle", "target", "retire", "web1", "--yes")
	has(line(web2))
	f.certificates(web2, lb)
	f.runsOnce(lb)
	// What a machine asks for itself waits for a word.
	if out := web2.Run(t, "fettle", "agent", "request", "suspect", "--reason", "disk errors"); !strings.Contains(out,
		"fettle request approve web2 suspect") {
		t.Errorf("%s", out)
	}
	t.Logf("\n%s", h.Run(t, "fettle", "request", "list"))
	h.Run(t, "fettle", "request", "approve", "web2", "suspect")
	f.await("it is a suspect", func() bool {
		return strings.Contains(h.Exec("fettle", "target", "list").Stdout, "suspect: disk errors")
	})
	t.Logf("\n%s\n%s", h.Run(t, "fettle", "target", "list"), h.Run(t, "fettle", "target", "show", "web2"))
	has(line(web2)) // nobody else is there
}

// certificates: a machine has a certificate for its service when somebody approved it, another
// one believes it, and does not any more when it is forbidden.
func (f *fleetOf) certificates(server, client *machine) {
	t, h := f.t, f.hub
	t.Helper()
	server.Run(t, "apt-get", "install", "-qy", "nginx")
	client.Run(t, "apt-get", "install", "-qy", "curl")
	const dir = "/etc/fettle/certificates/"
	if out := server.Run(t, "fettle", "agent", "request", "certificate", "--name", server.Name, "--reload",
		"nginx"); !strings.Contains(out, "fettle request approve "+server.Name+" certificate") {
		t.Errorf("%s", out)
	}
	t.Logf("\n%s", h.Run(t, "fettle", "request", "list"))
	h.Run(t, "fettle", "request", "approve", server.Name, "certificate")
	f.await("there is a certificate", func() bool {
		return server.Exec("test", "-e", dir+server.Name+"/fullchain.pem").ExitCode == 0
	})
	if out := server.Run(t, "stat", "-c", "%a %U", dir+server.Name+"/key.pem"); strings.TrimSpace(out) != "600 root" {
		t.Errorf("the key is %s", out)
	}
	server.WriteFile(t, "/etc/nginx/sites-enabled/default",
		"server {\n  listen 443 ssl;\n  ssl_certificate "+dir+server.Name+"/fullchain.pem;\n  ssl_certificate_key "+dir+
			server.Name+"/key.pem;\n  location / { return 200 \"the shop\"; }\n}\n", 0o644)
	server.Run(t, "systemctl", "restart", "nginx")
	believes := func() string {
		r := client.Exec("curl", "-sS", "--cacert", dir+"authority.pem", "--crlfile", dir+"crl.pem", "--resolve",
			server.Name+":443:"+server.Addr, "https://"+server.Name)
		return r.Stdout + r.Stderr
	}
	f.await("it is believed", func() bool { return believes() == "the shop" })
	t.Logf("\n%s\n%s", h.Run(t, "fettle", "cert", "list"), server.Run(t, "fettle", "agent", "status"))
	out := h.Run(t, "fettle", "cert", "revoke", "-t", server.Name, "--reason", "the key was copied", "--yes")
	t.Logf("\n%s", out)
	f.await("it is believed no more", func() bool { return strings.Contains(believes(), "certificate revoked") })
	f.await("both have the list", func() bool {
		id := strings.TrimSuffix(strings.Fields(out)[1], ":")
		is := h.Exec("fettle", "job", "show", id).Stdout
		return strings.Count(is, "acknowledged") == 2 && !strings.Contains(is, "waits")
	})
	f.await("it knows that", func() bool {
		return strings.Contains(server.Exec("fettle", "agent", "status").Stdout, "revoked")
	})
}

// runsOnce: what a request runs is begun once, also where the agent is killed in the middle, and
// is said to be interrupted then.
func (f *fleetOf) runsOnce(m *machine) {
	t, h := f.t, f.hub
	t.Helper()
	out := h.Run(t, "fettle", "job", "run", "-t", m.Name, "--", "sh", "-c", "echo begun >>/root/ran; exec sleep 600")
	id := strings.TrimSuffix(strings.Fields(out)[1], ":")
	f.await("it has begun", func() bool { return m.Exec("test", "-s", "/root/ran").ExitCode == 0 })
	m.Run(t, "systemctl", "kill", "--kill-whom=main", "--signal=KILL", "fettle-agent")
	f.await("the hub knows how it ended", func() bool {
		return strings.Contains(h.Exec("fettle", "job", "show", id).Stdout, "interrupted")
	})
	t.Logf("\n%s", h.Run(t, "fettle", "job", "show", id))
	if ran := m.Run(t, "cat", "/root/ran"); strings.TrimSpace(ran) != "begun" {
		t.Errorf("it ran again: %q", ran)
	}
}
