package e2e

import (
	"regexp"
	"strings"
	"testing"

	"fettle.dev/fettle/test/hosts"
	"fettle.dev/fettle/test/sample"
)

// TestFleetHistory: an agent that requires signed commits and descent gets the history from the hub. It
// refuses a signed commit above an unsigned one, and a rewritten branch, and stays as it was. A permit
// is the way on.
func TestFleetHistory(t *testing.T) {
	sample.Group(t, 15)
	t.Parallel()
	repo := hosts.NewRepo(t)
	repo.AddDebian(t)
	repo.Publish(t)
	w := hosts.NewWorld(t)
	f := &fleetOf{t: t, hub: newMachine(t, w, "hub", repo), agents: []*machine{newMachine(t, w, "web1", repo)}}
	f.begin()
	web1 := f.agents[0]
	f.hub.Run(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "/root/signer")
	web1.WriteFile(t, "/etc/fettle/agent.conf", "require_every_commit_signed = true\nrequire_descent = true\n", 0o644)
	f.commit("unchecked")
	f.refuses("has no file /etc/fettle/allowed_signers", "one")
	web1.WriteFile(t, "/etc/fettle/allowed_signers", "a@b "+f.hub.Run(t, "cat", "/root/signer.pub")+"\n", 0o644)
	f.signed("without the file")
	name := ""
	f.await("web1 names the file that binds the commit to the fleet", func() bool {
		name = regexp.MustCompile(`fleet-sha256-[0-9a-f]{64}`).FindString(f.hub.Exec("fettle", "target", "show", "web1",
			"--json").Stdout)
		return name != ""
	})
	f.hub.WriteFile(t, "/srv/site/"+name, "", 0o644)
	f.signed("two")
	f.motd("two")
	two := f.head()

	f.signed("three")
	f.signed("four")
	f.motd("four")
	f.commit("five")
	f.signed("six")
	f.refuses("which is new in its history since", "four")
	web1.Run(t, "systemctl", "restart", "fettle-agent")
	f.signed("seven")
	f.refuses("which is new in its history since", "four")
	f.permits(f.head())
	f.motd("seven")
	f.hub.Run(t, "fettle", "target", "unpin", "web1")
	f.signed("eight")
	f.motd("eight")

	f.hub.Run(t, "git", "-C", "/srv/site", "reset", "-q", "--hard", two)
	f.signed("nine")
	f.refuses("does not show that it descends from", "eight")
	f.permits(f.head())
	f.motd("nine")
}

func (f *fleetOf) head() string {
	return strings.TrimSpace(f.hub.Run(f.t, "git", "-C", "/srv/site", "rev-parse", "HEAD"))
}

// signed is commit with a signature.
func (f *fleetOf) signed(text string) {
	f.t.Helper()
	f.commit(text)
	f.hub.Run(f.t, "git", "-C", "/srv/site", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "gpg.format=ssh", "-c",
		"user.signingkey=/root/signer.pub",
		"commit", "-qS", "--amend", "--no-edit")
}

// refuses waits until the hub shows a reason of web1, which keeps its text.
func (f *fleetOf) refuses(reason, text string) {
	f.t.Helper()
	f.await("web1 reports "+reason, func() bool {
		return strings.Contains(f.hub.Exec("fettle", "target", "show",
			"web1").Stdout, reason)
	})
	if out := f.agents[0].Run(f.t, "cat", "/etc/motd"); strings.TrimSpace(out) != text {
		f.t.Errorf("web1 has %q and not %q", out, text)
	}
}

func (f *fleetOf) permits(commit string) {
	f.t.Helper()
	f.hub.Run(f.t, "fettle", "-C", "/srv/site", "target", "pin", "web1", "--branch", commit, "--permit", "--key",
		"/root/signer", "--reason", "reviewed")
}
