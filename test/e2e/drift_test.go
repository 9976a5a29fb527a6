package e2e

import (
	"os"
	"strings"
	"testing"

	"fettle.dev/fettle/test/hosts"
)

// driftList is what can change on a running host while every file stays the same.
const driftList = `
hostname "drift1" {}
nftables "main" {
  rules = <<-EOT
    table inet fettle {
      set blocked {
        type ipv4_addr
        elements = { 198.51.100.1, 198.51.100.2 }
      }
      set networks {
        type ipv4_addr
        flags interval
        auto-merge
        elements = { 10.0.0.0/24, 10.2.0.1-10.2.0.9 }
      }
      set recent {
        type ipv4_addr
        timeout 1h
        elements = { 198.51.100.9 }
      }
      map targets {
        type inet_service : ipv4_addr
        elements = { 80 : 192.0.2.1, 443 : 192.0.2.2 }
      }
      chain input {
        type filter hook input priority filter; policy accept;
        ip saddr @blocked counter drop
        iifname "lo" counter accept
      }
    }
    table ip other {
      chain output {
        type filter hook output priority filter; policy accept;
      }
    }
  EOT
}
`

// TestDriftOfTheRunningHost changes by hand what the kernel has now: fettle shows it as
// drift, repairs it, and takes all of it back.
func TestDriftOfTheRunningHost(t *testing.T) { eachRelease(t, driftOfTheRunningHost) }

func driftOfTheRunningHost(t *testing.T, r hosts.Release) {
	m := newMachine(t, hosts.NewWorldOf(t, r), "drift", debianRepo(t, r))
	before := m.Run(t, "hostname")
	m.write(map[string]string{"fettle.hcl": driftList})
	m.fettle(success, "apply", "--yes", "--confirm-within", "0s")
	m.want("drift1", "hostname")
	m.fettle(success, "plan")
	m.fettle(success, "drift")

	m.Run(t, "mount", "-o", "remount,bind,ro", "/proc/sys") // as container managers mount it
	for _, hand := range []struct{ command, shown string }{
		{"hostname other", "sysctl:kernel.hostname"},
		{"nft flush ruleset", "exec:load-nftables"},
		{"nft insert rule inet fettle input accept", "exec:load-nftables"},
		{"nft delete table ip other", "exec:load-nftables"},
		{"nft flush chain inet fettle input", "exec:load-nftables"},
		{"nft delete element inet fettle blocked '{ 198.51.100.2 }'", "exec:load-nftables"},
		{"nft flush set inet fettle networks", "exec:load-nftables"},
		{"nft delete element inet fettle targets '{ 443 : 192.0.2.2 }'", "exec:load-nftables"},
	} {
		m.Run(t, "sh", "-c", hand.command)
		m.says(m.fettle(changes, "drift"), hand.shown)
		m.says(m.fettle(changes, "plan"), hand.shown)
		m.says(m.fettle(success, "apply", "--yes", "--confirm-within", "0s"), hand.shown)
		m.fettle(success, "drift")
	}
	m.want("drift1", "hostname")
	m.want("1", "sh", "-c", "nft list ruleset | grep -c blocked.counter")

	// What counts packets, elements that programs add or that expire, and tables of other programs are no drift.
	m.Run(t, "sh", "-c",
		"nft add element inet fettle blocked '{ 192.0.2.1 }'; nft add element inet fettle networks '{ 10.0.1.0/24 }'; nft flush set inet fettle recent; nft add table inet foreign; ping -c1 127.0.0.1 >/dev/null 2>&1; true")
	m.fettle(success, "drift")

	m.ruleThatLoadsOnlyHere()
	m.restartLoop()
	m.fettle(success, "rollback", "origin", "--yes")
	m.want(before[:len(before)-1], "hostname")
}

// ruleThatLoadsOnlyHere has a rule about an interface that a network namespace of its own
// does not have: the tables of the file are still demanded.
func (m *machine) ruleThatLoadsOnlyHere() {
	m.t.Helper()
	m.write(map[string]string{"fettle.hcl": "nftables \"main\" {\n  rules = \"table inet fettle {\\n  chain input {\\n    type filter hook input priority filter\\n    iif host0 accept\\n  }\\n}\"\n}\nhostname \"drift1\" {}\n"})
	m.fettle(success, "apply", "--yes", "--confirm-within", "0s")
	m.fettle(success, "drift")
	m.Run(m.t, "nft", "flush", "ruleset")
	m.says(m.fettle(changes, "drift"), "exec:load-nftables")
	m.fettle(success, "apply", "--yes", "--confirm-within", "0s")
	m.fettle(success, "drift")
}

// loops is a container whose program ends again and again once /run/broken is there.
const loops = `#!/bin/sh
test -e /etc/containers/systemd/shop.container || exit 0
cat >"$1/shop.service" <<'EOF'
[Service]
Restart=always
ExecStart=/bin/sh -c 'while test ! -e /run/broken; do sleep 0.1; done; sleep 2.2; exit 3'
EOF
`

// restartLoop has a container that does not stay up: it is not in sync, although systemd
// calls it active most of the time.
func (m *machine) restartLoop() {
	m.t.Helper()
	m.WriteFile(m.t, "/etc/systemd/system-generators/quadlet", loops, 0o755)
	m.write(map[string]string{"fettle.hcl": "container \"shop\" {\n  image = \"docker.io/library/shop:1\"\n  package = false\n}\n"})
	m.fettle(success, "apply", "--yes", "--confirm-within", "0s", "--cross-irreversible")
	m.fettle(success, "drift")
	m.Run(m.t, "touch", "/run/broken")
	looping := func() bool {
		n := m.Exec("systemctl", "show", "-P", "NRestarts", "shop.service").Stdout
		return len(n) > 2 || n >= "3"
	}
	for range 2 { // a repair does not hide it for long
		m.await("restarts", looping)
		m.says(m.fettle(changes, "drift"), "found restarting -> expected active", "journalctl -u shop.service")
		m.says(m.fettle(changes, "plan"), "restarting -> active", "journalctl -u shop.service")
		m.says(m.fettle(success, "apply", "--yes"), "unit:shop.service")
	}
	if os.Getenv("FETTLE_LONG") != "" {
		m.slowLoop()
	}
	m.Run(m.t, "rm", "/run/broken")
	m.fettle(success, "apply", "--yes")
	m.fettle(success, "drift")
	m.want("active", "systemctl", "is-active", "shop.service")
}

// slowLoop has failures that are more than half a minute apart. The loop is still found after the
// unit has run for more than a minute.
func (m *machine) slowLoop() {
	m.t.Helper()
	m.WriteFile(m.t, "/etc/systemd/system-generators/quadlet",
		strings.Replace(loops, "sleep 2.2", "sleep 35; test ! -e /run/slow || sleep 100", 1), 0o755)
	m.Run(m.t, "systemctl", "daemon-reload")
	m.Run(m.t, "systemctl", "restart", "shop.service")
	shown := func(property string) string {
		return strings.TrimSpace(m.Run(m.t, "systemctl", "show", "-P", property, "shop.service"))
	}
	m.awaitLong("three slow restarts", func() bool { return shown("NRestarts") == "3" })
	m.Run(m.t, "touch", "/run/slow")
	m.awaitLong("a minute without a restart", func() bool {
		up := "test $(($(cut -d. -f1 /proc/uptime) * 1000000 - $(systemctl show -P InactiveExitTimestampMonotonic shop.service))) -gt 61000000"
		return m.Exec("sh", "-c", up).ExitCode == 0
	})
	if shown("NRestarts") != "3" {
		m.t.Fatal("it restarted once more")
	}
	m.says(m.fettle(changes, "drift"), "found restarting -> expected active", "journalctl -u shop.service")
	m.says(m.fettle(success, "apply", "--yes"), "unit:shop.service")
}
