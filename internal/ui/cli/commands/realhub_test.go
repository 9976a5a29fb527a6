package commands_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/test/hubs"
)

// hubKey is the key of the *hubs.Fleet of a script.
const hubKey = "hub"

// hubOf returns the hub of a script.
func hubOf(ts *testscript.TestScript) *hubs.Fleet { return ts.Value(hubKey).(*hubHolder).hub }

// hubHolder is stored in the environment of each script.
type hubHolder struct{ hub *hubs.Fleet }

// users are the users of a hub in scripts, by role. The file with the name of the role contains a
// login token.
func users() map[string]string {
	return map[string]string{"read": "rita", "operate": "otto", "admin": "jane"}
}

// cmdHub starts a hub with the fleet of hubs.Fleet: hub [connected]. The variables HUB and AUTHORITY
// are for logins, WEB1 and WEB2 are the identities of targets, and COMMIT is the commit of the
// repository. With "connected", web2 is connected too.
func cmdHub(ts *testscript.TestScript, _ bool, args []string) {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "hub") // the repository of the hub must not be part of that of the script
	ts.Check(err)
	ts.Defer(func() { _ = os.RemoveAll(dir) })
	hub, err := hubs.StartFleet(ctx, dir)
	ts.Check(err)
	ts.Defer(func() {
		if err := hub.Close(); err != nil {
			ts.Logf("the hub ended with %v", err)
		}
	})
	ts.Value(hubKey).(*hubHolder).hub = hub
	for role, user := range users() {
		token, err := hub.Token(ctx, user, role)
		ts.Check(err)
		ts.Check(os.WriteFile(ts.MkAbs(role), []byte(token), 0o600))
	}
	for name, a := range map[string]*hubs.Agent{"WEB1": hub.Web1, "WEB2": hub.Web2} {
		a.Job = runJob
		a.Serve = serveTarget(ts.Getenv("HOME"), a.Name, hub.Authority)
		ts.Setenv(name, string(a.ID))
	}
	if slices.Contains(args, "connected") {
		ts.Check(hub.Web2.Connect(ctx))
	}
	site, err := client.Get(ctx, hub.Root, route.Repositories())
	ts.Check(err)
	ts.Setenv("COMMIT", site.Repositories[0].Commit[:12])
	ts.Setenv("HUB", hub.URL)
	ts.Setenv("AUTHORITY", hub.Authority)
}

// serveTarget serves the host behind an agent, with its state below HOME/agents. An agent manages
// web2 at a commit. If HOME has a directory strict, web1 requires signed commands.
func serveTarget(home, name, authority string) func(context.Context, fleet.ExecutorHeader, io.ReadWriteCloser) {
	return func(ctx context.Context, header fleet.ExecutorHeader, stream io.ReadWriteCloser) {
		facts, err := wire.EncodeFacts(map[string]cty.Value{"hostname": cty.StringVal(name)})
		if err != nil {
			_ = stream.Close()
			return
		}
		hello := wire.Hello{Version: "test", Host: name, Facts: facts}
		if name == "web2" {
			hello.Kept = &wire.Kept{Commit: "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", Branch: "main", Generation: 7}
		}
		served := wire.Served{
			Hello: hello, From: "fleet " + header.By, Now: time.Now, ReadOnly: !header.Changes,
			Open: func(ctx context.Context, _ bool) (executor.Executor, func() error, error) {
				return openFake("")(ctx, cli.Machine{State: filepath.Join(home, "agents", name)})
			},
		}
		if strict := filepath.Join(home, "strict"); name == "web1" && isDir(strict) {
			served.ReadOnly, served.Refused = true, agent.SignedCommands.Refuses()
			served.Accept = acceptHere(strict, authority)
		}
		_ = wire.Serve(ctx, stream, served)
	}
}

// runJob runs every command with the exit code 3, except the program "missing", which does not exist.
func runJob(j fleet.Job) fleet.JobAnswer {
	switch {
	case j.Run == nil:
		return fleet.JobAnswer{}
	case slices.Equal(j.Run.Argv, []string{"missing"}):
		return fleet.JobAnswer{Result: &fleet.CommandResult{Command: 7}, Error: `cannot run "missing"`}
	}
	return fleet.JobAnswer{Result: &fleet.CommandResult{Command: 7, Exit: 3, Stdout: "up 3 days\n", Duration: 12_000_000}}
}

// cmdUntil repeats a command of fettle until a line of its output matches: until PATTERN ARGS…. The
// hub works asynchronously.
func cmdUntil(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: until PATTERN ARGS…")
	}
	pattern := regexp.MustCompile("(?m)" + args[0])
	_, err := hubs.Await(context.Background(), args[0], func() (string, error) {
		_ = ts.Exec("fettle", args[1:]...) // the pattern decides
		return ts.ReadFile("stdout"), nil
	}, pattern.MatchString)
	ts.Check(err)
}

// cmdLater moves the clock of the hub: later DURATION.
func cmdLater(ts *testscript.TestScript, _ bool, args []string) {
	d, err := time.ParseDuration(strings.Join(args, " "))
	ts.Check(err)
	hubOf(ts).SetTime(hubOf(ts).Time().Add(d))
}

// cmdUnassign commits a configuration without modules/web.
func cmdUnassign(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Check(hubOf(ts).Commit(context.Background(), "Remove web", map[string]string{
		"fettle.hcl": "policy { rollout = \"at-once\" }\n" +
			"target_group \"web\" {\n  labels  = { role = \"web\" }\n  modules = [\"base\"]\n}\n"}))
}

// cmdWebhook starts a server that accepts every notice, and sets WEBHOOK to its URL.
func cmdWebhook(ts *testscript.TestScript, _ bool, _ []string) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	ts.Defer(server.Close)
	ts.Setenv("WEBHOOK", server.URL)
}

// cmdCapture sets a variable to the first group of a match: capture NAME FILE PATTERN.
func cmdCapture(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: capture NAME FILE PATTERN")
	}
	found := regexp.MustCompile("(?m)" + args[2]).FindStringSubmatch(ts.ReadFile(args[1]))
	if len(found) < 2 {
		ts.Fatalf("cannot find %s in %s", args[2], args[1])
	}
	ts.Setenv(args[0], found[1])
}

// cmdAsks sends a request of an agent until the hub gives an answer: asks TARGET suspect REASON
// ANSWER, or asks TARGET certificate NAME ANSWER.
func cmdAsks(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 4 {
		ts.Fatalf("usage: asks TARGET REQUEST TEXT ANSWER")
	}
	a := map[string]*hubs.Agent{"web1": hubOf(ts).Web1, "web2": hubOf(ts).Web2}[args[0]]
	r := fleet.Request{What: fleet.RequestKind(args[1]), Reason: args[2]}
	if r.What == fleet.RequestCertificate {
		key, err := pki.NewServiceKey()
		ts.Check(err)
		request, err := key.Request()
		ts.Check(err)
		r.Reason, r.Names, r.Signing = "", []string{args[2]}, string(request)
	}
	ctx := context.Background()
	_, err := hubs.Await(ctx, "the answer", func() (fleet.RequestAnswer, error) { return a.Request(ctx, r) },
		func(answer fleet.RequestAnswer) bool { return answer.Answer == args[3] })
	ts.Check(err)
}
