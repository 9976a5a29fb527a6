package e2e

import (
	"crypto/sha256"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/test/hosts"
	"fettle.dev/fettle/test/sample"
)

// signedFleet is a fleet in which web1 accepts only signed commands, and web2 all.
type signedFleet struct {
	*fleetOf
	secret    string // of the user ann
	authority [sha256.Size]byte
	key       content.SigningKey
}

// TestSignedCommands runs commands and jobs through a hub on a host with commands = "signed": only
// signed ones run, each once, also after a restart of the host.
func TestSignedCommands(t *testing.T) {
	sample.Group(t, 4)
	t.Parallel()
	repo := hosts.NewRepo(t)
	repo.AddDebian(t)
	repo.Publish(t)
	w := hosts.NewWorld(t)
	f := &signedFleet{fleetOf: &fleetOf{t: t, hub: newMachine(t, w, "hub", repo),
		agents: []*machine{newMachine(t, w, "web1", repo), newMachine(t, w, "web2", repo)}}}
	f.begin()
	f.operator()
	f.unsigned()
	f.signed()
	text := f.job("replayed", "web1")
	f.ends(f.send(text, "replayed", "web1"), "acknowledged", "")
	f.ends(f.send(text, "replayed", "web1"), "refused", "this host accepted it before")
	f.ends(f.send(text, "replayed", "web2"), "acknowledged", "") // it requires no signature
	f.agents[0].Reboot(t)
	f.ends(f.send(text, "replayed", "web1"), "refused", "this host accepted it before")
	f.ends(f.send(f.job("changed", "web1"), "other", "web1"), "refused", "")
	f.ends(f.send(f.job("elsewhere", "web2"), "elsewhere", "web1"), "refused", "")
	f.agents[0].want("replayed", "cat", "/root/ran")
	if f.agents[0].has("/root/other") || f.agents[0].has("/root/elsewhere") {
		t.Error("a command ran that nobody signed for this host")
	}
}

// operator makes the user ann with a key, and lets web1 accept only commands with this key.
func (f *signedFleet) operator() {
	h := f.hub
	h.Run(f.t, "fettle", "user", "set", "ann", "--role", "operate")
	_, f.secret, f.authority = logIn(f.t, h, "ann")
	h.Run(f.t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", "/root/ann/key")
	var err error
	if f.key, err = content.ReadSigningKey([]byte(h.ReadFile(f.t, "/root/ann/key"))); err != nil {
		f.t.Fatal(err)
	}
	web1 := f.agents[0]
	web1.WriteFile(f.t, "/etc/fettle/allowed_signers",
		`ann namespaces="fettle-command@v1" `+h.ReadFile(f.t, "/root/ann/key.pub"), 0o644)
	web1.WriteFile(f.t, "/etc/fettle/agent.conf", "commands = \"signed\"\n", 0o644)
	web1.Run(f.t, "systemctl", "restart", "fettle-agent")
	f.told("its commit is not signed") // The new process of web1 is connected, and uses the file.
}

// logIn logs a user in on a hub, with the home directory home. It returns the token and the digest of the fleet CA.
func logIn(t *testing.T, h *machine, name string) (home, secret string, authority [sha256.Size]byte) {
	t.Helper()
	var login document.NewLogin
	if err := json.Unmarshal([]byte(h.Run(t, "fettle", "user", "login", name, "--json")), &login); err != nil {
		t.Fatal(err)
	}
	ca, _ := pem.Decode([]byte(h.ReadFile(t, "/var/lib/fettle-hub/authority/authority.pem")))
	if ca == nil {
		t.Fatal("the hub has no certificate of the fleet CA")
	}
	authority = sha256.Sum256(ca.Bytes)
	home = "/root/" + name
	h.Run(t, "mkdir", "-p", home)
	r := h.ExecInput(strings.NewReader(login.Secret), "env", "HOME="+home, "fettle", "login", "https://"+h.Addr+":7440",
		"--ca-digest", fmt.Sprintf("sha256:%x", authority))
	if r.ExitCode != 0 {
		t.Fatalf("%s%s", r.Stdout, r.Stderr)
	}
	return home, login.Secret, authority
}

// fettle runs a command of ann in the repository.
func (f *signedFleet) fettle(code int, args ...string) hosts.Result {
	f.t.Helper()
	r := f.hub.Exec(append([]string{"env", "-C", "/srv/site", "HOME=/root/ann", "fettle"}, args...)...)
	if r.ExitCode != code {
		f.t.Errorf("fettle %v gave %d instead of %d\n%s%s", args, r.ExitCode, code, r.Stdout, r.Stderr)
	}
	return r
}

// refused expects that a command is refused for these reasons.
func (f *signedFleet) refused(texts []string, args ...string) {
	f.t.Helper()
	r := f.fettle(failed, args...)
	for _, text := range texts {
		if !strings.Contains(r.Stderr, text) {
			f.t.Errorf("fettle %v does not say %q:\n%s%s", args, text, r.Stdout, r.Stderr)
		}
	}
}

// unsigned commands, plans and applies are refused, and the message names the way that works.
func (f *signedFleet) unsigned() {
	f.refused([]string{"accepts only signed commands", "--sign-key FILE", "--via ssh"}, "run", "-t", "web1", "--via",
		"hub", "--", "touch", "/root/unsigned")
	for _, command := range []string{"plan", "apply"} {
		args := []string{command, "-t", "web1", "--via", "hub"}
		if command == "apply" {
			args = append(args, "--yes")
		}
		f.refused([]string{"a plan cannot be signed", "Commit and push the change", "--via ssh"}, args...)
	}
	f.fettle(success, "status", "-t", "web1", "--via", "hub")
	f.fettle(success, "run", "-t", "web2", "--via", "hub", "--", "true")
	f.ends(f.order("-t", "web1", "--", "touch", "/root/unsigned"), "refused", "accepts only signed commands")
	if f.agents[0].has("/root/unsigned") {
		f.t.Error("an unsigned command ran")
	}
}

func (f *signedFleet) signed() {
	f.fettle(success, "run", "-t", "web1", "--via", "hub", "--sign-key", "/root/ann/key", "--", "touch", "/root/signed")
	f.ends(f.order("-t", "web1", "--sign-key", "/root/ann/key", "--", "touch", "/root/job"), "acknowledged", "")
	for _, file := range []string{"/root/signed", "/root/job"} {
		if !f.agents[0].has(file) {
			f.t.Errorf("a signed command did not run: %s is missing", file)
		}
	}
}

// order orders a job by the command line, and returns its name.
func (f *signedFleet) order(args ...string) string {
	f.t.Helper()
	var job document.Job
	if err := json.Unmarshal([]byte(f.fettle(success, append([]string{"job", "run", "--json"}, args...)...).Stdout),
		&job); err != nil {
		f.t.Fatal(err)
	}
	return job.ID
}

// appending appends a line to a file, so that a second execution is visible.
func appending(text string) *fleet.Command {
	return &fleet.Command{Argv: []string{"sh", "-c",
		"echo " + text + " >>/root/" + map[bool]string{true: "ran", false: text}[text == "replayed"]}}
}

// job is a job that ann signed for a target.
func (f *signedFleet) job(text, target string) string {
	f.t.Helper()
	params, err := json.Marshal(appending(text))
	if err != nil {
		f.t.Fatal(err)
	}
	now := time.Now()
	signed, err := content.Command{
		Fleet: content.FleetFile(f.authority), Targets: []string{target}, Call: content.JobCall, Params: params,
		From: now.Add(-time.Minute).Unix(), Until: now.Add(time.Hour).Unix(),
	}.Sign(f.key)
	if err != nil {
		f.t.Fatal(err)
	}
	return signed
}

// send orders a program from a target with a signature, as a hostile user of the hub does: the
// signature can be of another job. It returns the name of the job.
func (f *signedFleet) send(signed, text, target string) string {
	f.t.Helper()
	body, err := json.Marshal(document.JobRequest{What: fleet.JobRun, Select: []string{target}, Run: appending(text),
		Signed: signed, Expires: int64(time.Hour)})
	if err != nil {
		f.t.Fatal(err)
	}
	request := fmt.Sprintf("POST /v1/jobs HTTP/1.1\r\nHost: hub\r\nConnection: close\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", f.secret, len(
		body), body)
	r := f.hub.ExecInput(strings.NewReader(request), "openssl", "s_client", "-quiet", "-ign_eof", "-connect",
		f.hub.Addr+":7440")
	_, answer, _ := strings.Cut(r.Stdout, "\r\n\r\n")
	var job document.Job
	if begin := strings.Index(answer, "{"); begin < 0 ||
		json.NewDecoder(strings.NewReader(answer[begin:])).Decode(&job) != nil || job.ID == "" {
		f.t.Fatalf("the hub did not accept the job:\n%s%s", r.Stdout, r.Stderr)
	}
	return job.ID
}

// ends awaits the end of a job on its only target.
func (f *signedFleet) ends(id, is, reason string) {
	f.t.Helper()
	var job document.Job
	f.await("the end of the job "+id, func() bool {
		r := f.hub.Exec("fettle", "job", "show", id, "--json")
		return json.Unmarshal([]byte(r.Stdout), &job) == nil && len(job.Targets) == 1 &&
			job.Targets[0].State != document.JobWaits && job.Targets[0].State != document.JobAccepted
	})
	if t := job.Targets[0]; string(t.State) != is || !strings.Contains(t.Error, reason) {
		f.t.Errorf("the job on %s ended as %q instead of %q: %s", t.Name, t.State, is, t.Error)
	}
}
