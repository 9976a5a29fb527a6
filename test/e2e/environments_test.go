package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/test/sample"
)

// instances gives three environments from one definition. web4 tests their public names from outside.
const instances = atOnce + `environment "instance" {
  for_each = {
    prod    = { domain = "example.org", greeting = "welcome" }
    staging = { domain = "staging.example.org", greeting = "test" }
  }
  domain = each.value.domain
  labels = { env = each.key }
  vars   = { greeting = each.value.greeting }
  check "site" {
    http     = "http://${environment.domain}:8080/"
    contains = "this is ${environment.name}"
    from     = ["web4"]
    every    = "5s"
    branches = true
  }
}
`

// greets is a web server that answers with the values of its environment.
const greets = `variable "greeting" { type = string }
file "/usr/local/bin/site" {
  mode    = "0755"
  content = <<-EOT
    #!/bin/sh
    while read -r line; do
      test "$line" != "$(printf '\r')" || break
    done
    test ! -e /run/broken || exit 1
    printf 'HTTP/1.0 200 OK\r\n\r\n'
    echo 'this is ${environment.name} at ${environment.domain}: ${var.greeting}, TEXT'
  EOT
}
socket "site" {
  listen_on = ["8080"]
  accept    = true
  command   = "/usr/local/bin/site"
  after     = [file["/usr/local/bin/site"]]
}
`

// environmentsOf is a fleet with environments. Only review changes its environment. public tests the public names.
type environmentsOf struct {
	*hubsOf
	hub, prod, staging, review, public *machine
}

// TestEnvironments: one definition gives an environment for production, one for staging, and environments of branches,
// which end by command, by time, and when the branch is deleted. No other host gets another assignment, or runs. A host
// outside tests the public names, and notices that a site is broken while all hosts are ready.
func TestEnvironments(t *testing.T) {
	sample.Group(t, 8)
	t.Parallel()
	f := newFleetOfHubs(t, 1, 4)
	f.policy, f.module = instances, greets
	e := &environmentsOf{f, f.hubs[0], f.agents[0], f.agents[1], f.agents[2], f.agents[3]}
	f.commit("one")
	f.startHubs()
	for i, labels := range []string{"role=web,env=prod", "role=web,env=staging", "role=web,env=staging", "role=probe"} {
		f.enrol(f.agents[i], e.hub, labels)
	}
	e.branch("fix-7", "seven")
	e.public.WriteFile(t, "/etc/hosts", "127.0.0.1 localhost\n"+e.prod.Addr+" example.org\n"+e.staging.Addr+
		" staging.example.org\n"+e.review.Addr+" review-7.staging.example.org\n", 0o644)
	e.serves(e.prod, "this is prod at example.org: welcome, one")
	e.serves(e.staging, "this is staging at staging.example.org: test, one")
	e.serves(e.review, "this is staging at staging.example.org: test, one")
	e.verdict("environment/prod", "ready")
	e.verdict("environment/staging", "ready")
	before := e.others()

	e.byCommand()
	e.broken()
	e.byRule()
	e.repaired()
	for i, was := range before {
		if is := e.others()[i]; is != was {
			t.Errorf("the assignment of %s, or its runs, changed from\n%s\nto\n%s", f.agents[i].Name, was, is)
		}
	}
	if out := e.hub.Exec("fettle", "alarm", "list").Stdout; strings.Contains(out, "environment_conflict") {
		t.Errorf("the alarms are %s", out)
	}
}

// branch commits a text as a new branch of the repository.
func (e *environmentsOf) branch(name, text string) {
	e.t.Helper()
	e.hub.Run(e.t, "git", "-C", "/srv/site", "checkout", "-q", "-b", name)
	e.commit(text)
	e.hub.Run(e.t, "git", "-C", "/srv/site", "checkout", "-q", "main")
}

// fettle runs a command at the hub, which must print a text.
func (e *environmentsOf) fettle(want string, args ...string) {
	e.t.Helper()
	if out := e.hub.Run(e.t, append([]string{"fettle", "environment"}, args...)...); !strings.Contains(out, want) {
		e.t.Errorf("fettle environment %s prints %q, want %q", strings.Join(args, " "), out, want)
	}
}

// serves waits until the site of a host answers with a text.
func (e *environmentsOf) serves(m *machine, want string) {
	e.t.Helper()
	e.await(m.Name+" says: "+want, func() bool {
		r := m.Exec("bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/8080; printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3")
		return strings.HasSuffix(r.Stdout, "\n"+want+"\n")
	})
}

// verdict waits until an environment has a verdict.
func (e *environmentsOf) verdict(id, want string) {
	e.t.Helper()
	e.await(id+" is "+want, func() bool { return e.scope(id).Scope.Verdict == want })
}

// others returns the signed assignments of the hosts that change no environment, with the number of their runs.
func (e *environmentsOf) others() (out []string) {
	e.t.Helper()
	for _, m := range []*machine{e.prod, e.staging} {
		var state struct {
			Envelope, Accepted json.RawMessage
		}
		if err := json.Unmarshal([]byte(m.ReadFile(e.t, "/var/lib/fettle/agent/state.json")), &state); err != nil ||
			len(state.Envelope) == 0 {
			e.t.Fatalf("%s has no assignment: %v", m.Name, err)
		}
		out = append(out, string(state.Envelope)+string(state.Accepted)+m.Run(e.t, "fettle", "log", "--json"))
	}
	return out
}

// byCommand creates an environment of a branch. An operator removes it. A second one ends after its time.
func (e *environmentsOf) byCommand() {
	create := []string{"create", "review-7", "--from", "staging", "--branch", "fix-7", "-t", "web3", "--expires", "3d",
		"--var", "greeting=look", "--reason", "review of #7"}
	e.fettle("exists until", create...)
	e.serves(e.review, "this is review-7 at review-7.staging.example.org: look, seven")
	e.serves(e.staging, "this is staging at staging.example.org: test, one")
	e.fettle("assigned at", "show", "review-7")
	e.verdict("environment/review-7", "ready")
	e.fettle("return to staging: web3", "remove", "review-7", "--reason", "merged")
	e.serves(e.review, "this is staging at staging.example.org: test, one")

	e.fettle("exists until", create...)
	e.serves(e.review, "this is review-7 at review-7.staging.example.org: look, seven")
	e.fettle("exists until", "extend", "review-7", "--expires", "1s")
	e.serves(e.review, "this is staging at staging.example.org: test, one")
	e.fettle("ended", "list")
}

// byRule creates an environment for a branch by a pattern, and deletes the branch.
func (e *environmentsOf) byRule() {
	e.fettle("get environments review-*", "follow", "review", "review/*", "--from", "staging", "-t", "web3",
		"--keep", "1s")
	e.branch("review/8", "eight")
	e.serves(e.review, "this is review-8 at review-8.staging.example.org: test, eight")
	e.fettle("The rule review created it", "show", "review-8")
	e.hub.Run(e.t, "git", "-C", "/srv/site", "branch", "-q", "-D", "review/8")
	e.serves(e.review, "this is staging at staging.example.org: test, one")
	e.fettle("0 of 10", "rules")
}

// broken breaks the site of staging in a way that no agent notices. byRule uses the time until the hub knows it.
func (e *environmentsOf) broken() {
	e.staging.Run(e.t, "touch", "/run/broken")
}

// repaired checks that only staging failed, and repairs its site.
func (e *environmentsOf) repaired() {
	e.verdict("environment/staging", "failed")
	d := e.scope("environment/staging")
	if r := d.Scope.Reasons; len(r) == 0 || r[0].Subject != "check" || !slices.Equal(r[0].Targets, []string{"web4"}) {
		e.t.Errorf("the reasons are %+v", r)
	}
	e.await("all hosts are ready", func() bool {
		return strings.Contains(e.hub.Exec("fettle", "status", "--fleet").Stdout, "4 ready")
	})
	if d := e.scope("environment/prod"); d.Scope.Verdict != "ready" {
		e.t.Errorf("production is %s", d.Scope.Verdict)
	}
	e.staging.Run(e.t, "rm", "/run/broken")
	e.verdict("environment/staging", "ready")
}
