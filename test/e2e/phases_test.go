package e2e

import (
	"os"
	"strings"
	"testing"

	"fettle.dev/fettle/test/hosts"
	"fettle.dev/fettle/test/sample"
)

// tlsSite is a web server whose certificate can only be made while the site is
// served without one: one run brings the configuration through both states, and
// no state is written twice.
const tlsSite = `
define "site" {
  main = "domain"
  variable "domain" { type = string }
  variable "certificate" {
    type    = object({ certificate = string, key = string })
    default = null
  }
  file "conf" {
    path    = "/etc/nginx/sites-enabled/${var.domain}"
    content = <<-EOT
      server {
      %{ if var.certificate == null ~}
        listen 80;
      %{ else ~}
        listen 443 ssl;
        ssl_certificate ${var.certificate.certificate};
        ssl_certificate_key ${var.certificate.key};
      %{ endif ~}
        server_name ${var.domain};
        location / { return 200 "VERSION\n"; }
      }
    EOT
  }
}

package "nginx" {}
package "openssl" {}

service "nginx" {
  running = true
  after   = [package.nginx]
}

file "/etc/nginx/sites-enabled/default" { ensure = "absent" }

file "certify" {
  path   = "/usr/local/sbin/certify"
  mode   = "0755"
  source = "certify"
}

site "plain" {
  domain = "shop.example.org"
  after  = [package.nginx]
  notify = [service.nginx.reload]
}

exec "certificate" {
  command = [file.certify.path, "shop.example.org"]
  creates = "/etc/nginx/tls/shop.example.org/paths.json"
  output  = "OUTPUT"
  undo    = "rm -r /etc/nginx/tls"
  after   = [site.plain, service.nginx, package.openssl]
}

site "tls" {
  domain      = "shop.example.org"
  certificate = jsondecode(exec.certificate.result)
  notify      = [service.nginx.reload]
}

check "answers" {
  exec = "curl -sSfk --resolve shop.example.org:443:127.0.0.1 https://shop.example.org/"
}
`

// certify is a certificate authority in small: it asks the running server for the
// plain site before it signs.
const certify = `#!/bin/sh
set -eu
domain=$1
dir=/etc/nginx/tls/$domain
curl -sSf --resolve "$domain:80:127.0.0.1" "http://$domain/" >/dev/null
echo asked >>/root/asked
mkdir -p "$dir"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj "/CN=$domain" \
	-keyout "$dir/key.pem" -out "$dir/cert.pem" 2>/dev/null
printf '{"certificate": "%s", "key": "%s"}\n' "$dir/cert.pem" "$dir/key.pem" >"$dir/paths.json"
cat "$dir/paths.json"
`

// TestCertificateInOneRun lives through the set-up of a site with TLS: two
// configurations and two reloads in one apply, from nothing and from wherever it
// was stopped.
func TestCertificateInOneRun(t *testing.T) {
	sample.Group(t, 5)
	t.Parallel()
	repo := hosts.NewRepo(t)
	repo.AddDebian(t)
	repo.Publish(t)
	w := hosts.NewWorld(t)
	outputs := map[string]string{"prints": "stdout"}
	if os.Getenv("FETTLE_LONG") != "" {
		outputs["writes"] = "/etc/nginx/tls/shop.example.org/paths.json"
	}
	for name, output := range outputs {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, w, name, repo)
			m.Run(t, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-q", "-y", "--no-install-recommends",
				"git", "curl")
			text := strings.NewReplacer("OUTPUT", output, "VERSION", "one").Replace(tlsSite)
			m.write(map[string]string{"fettle.hcl": text, "certify": certify})
			m.git("init", "-q", "-b", "main")
			m.commit("A site with TLS")
			certificateStory(m)
		})
	}
}

func certificateStory(m *machine) {
	const conf = "/etc/nginx/sites-enabled/shop.example.org"
	m.says(m.fettle(changes, "plan"), "+ file:"+conf, "> exec:certificate", "Then, when this is done:", "* file:"+conf,
		"(known after apply)", "needs the output of exec:certificate")
	m.says(m.fettle(failed, "plan", "-o", "/root/later.plan"),
		"cannot save the plan: the changes of site.tls/file.conf are known only after apply (needs the output of exec:certificate)")
	m.says(m.fettle(success, "compile"), "# deferred until a run provides a value: site.tls/file.conf at fettle.hcl:")
	out := m.fettle(success, "apply", "--yes")
	m.says(out, "check:answers")
	if n := strings.Count(out.all(), "file:"+conf+"\n"); n < 2 {
		m.t.Errorf("the configuration was written %d times", n)
	}
	m.told(2)
	m.want("asked", "cat", "/root/asked")
	m.securely("one")
	m.says(m.fettle(success, "log"), "apply, after 1")

	runs := m.runs()
	m.says(m.fettle(success, "apply", "--yes"), "No changes were necessary")
	m.fettle(success, "plan")
	m.says(m.fettle(success, "drift"), "as applied")
	if now := m.runs(); now != runs {
		m.t.Errorf("an apply without changes made a run: %d, then %d", runs, now)
	}
	m.told(2)

	// Both configurations change, and only the last one is written.
	m.edit(repository+"/fettle.hcl", `return 200 "one`, `return 200 "two`)
	m.commit("Better")
	m.fettle(success, "apply", "--yes")
	m.told(3)
	m.securely("two")

	// All of it goes, and comes again in pieces.
	m.fettle(success, "rollback", "origin", "--yes", "--cross-irreversible")
	if m.has("/etc/nginx/tls") || m.has(conf) {
		m.t.Error("the rollback leaves the certificate or the site")
	}
	stoppedBehindEachStep(m)
}

// stoppedBehindEachStep kills the apply at the command and at the second reload,
// and lets it go on.
func stoppedBehindEachStep(m *machine) {
	m.Run(m.t, "rm", "-f", "/root/asked")
	m.edit(repository+"/certify", "set -eu", "set -eu\\ntest ! -e /root/broken")
	m.commit("A command that can be broken")
	m.Run(m.t, "touch", "/root/broken")
	m.fettle(failed, "apply", "--yes")
	m.Run(m.t, "rm", "/root/broken")
	m.fettle(success, "apply", "--yes")
	m.want("asked", "cat", "/root/asked")
	m.securely("two")
	m.says(m.fettle(success, "apply", "--yes"), "No changes were necessary")
	m.fettle(success, "rollback", "--yes", "--cross-irreversible") // the last apply, not only its last phase
	m.says(m.fettle(changes, "plan"), "exec:certificate")
}

// told demands how often nginx was reloaded.
func (m *machine) told(times int) {
	m.t.Helper()
	if n := m.reloads("nginx"); n != times {
		m.t.Errorf("nginx was reloaded %d times, want %d", n, times)
	}
}

func (m *machine) securely(text string) {
	m.t.Helper()
	m.await("the site says "+text, func() bool {
		return m.Exec("curl", "-sSk", "--resolve", "shop.example.org:443:127.0.0.1",
			"https://shop.example.org/").Stdout == text+"\n"
	})
}
