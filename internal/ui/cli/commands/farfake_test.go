package commands_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/ssh"
	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/lang/query"
	langsource "fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/window"
)

// far is a fake engine on another machine.
type far struct {
	*fake
	host string
}

func (f far) Hello() wire.Hello {
	h := wire.Hello{Version: "test", Host: f.host}
	if text, err := os.ReadFile(filepath.Join(os.Getenv("HOME"), "ended-"+f.host)); err == nil {
		h.Ended = []wire.Ended{{Name: "1.json", Command: "fettle apply", User: "jane", Started: fakeNow.UnixNano(),
			Ended:  fakeNow.UnixNano(),
			Report: &executor.Report{Run: 3, Outcome: "succeeded", Changed: 2}, Error: strings.TrimSpace(string(text))}}
	}
	return h
}

func (f far) Facts() map[string]cty.Value {
	return map[string]cty.Value{"hostname": cty.StringVal(f.host), "cpus": cty.NumberIntVal(2)}
}

func (f far) Collected(context.Context, []string) error {
	return os.Remove(filepath.Join(os.Getenv("HOME"), "ended-"+f.host))
}

func (f far) Close() error { return nil }

// connectFake reaches every host but those whose name begins with down. What goes
// wrong on one stands in FETTLE_FAR, as host=mode,….
func connectFake(ctx context.Context, a ssh.Address, _ ssh.Options, _ bool) (cli.Remote, error) {
	if strings.HasPrefix(a.Host, "down") {
		return nil, &ssh.Error{Address: a, Class: ssh.Unreachable, Text: "the port refuses connections",
			Advice: "Try: ssh " + a.Host}
	}
	mode := ""
	for _, w := range strings.Split(os.Getenv("FETTLE_FAR"), ",") {
		if host, m, ok := strings.Cut(w, "="); ok && host == a.Host {
			mode = m
		}
	}
	x, _, err := openFake(mode)(ctx, cli.Machine{State: filepath.Join(os.Getenv("HOME"), "machines", a.Host)})
	if err != nil {
		return nil, err
	}
	return far{x.(*fake), a.Host}, nil
}

// toyTarget is a target that is reached over SSH where its name says so: far1. Its name also selects windows: farnight1
// has one that is closed, and farzone1 one with a time zone that is unknown.
func toyTarget(name string) query.Target {
	t := query.Target{Name: name, Labels: map[string]string{}}
	if strings.HasPrefix(name, "far") || strings.HasPrefix(name, "down") || name == "db" {
		t.SSH = &query.SSH{Host: name}
	}
	t.Modules = map[string][]string{"far1": {"modules/db"}, "far2": {"modules/web"}, "far3": {"modules/web"}}[name]
	if strings.HasPrefix(name, "farnight") {
		t.Windows = []window.Window{{Name: "nights", Schedule: "0 2 * * *", Seconds: 7200, Zone: "UTC"}}
	}
	if strings.HasPrefix(name, "farzone") {
		t.Windows = []window.Window{{Name: "local", Schedule: "0 2 * * *", Seconds: 7200, Zone: window.TargetZone}}
	}
	if name == "web1" {
		at := func(file string, line int) diag.Range { return diag.Range{File: file, Start: diag.Pos{Line: line}} }
		t.Uses = []query.Use{
			{Name: "base", Directory: "modules/base", From: []langsource.Given{{By: "role all", Range: at("fettle.hcl", 2)}}},
			{Name: "web", Directory: "modules/web", From: []langsource.Given{{By: "target group web",
				Range: at("fettle.hcl", 7)}, {By: "target", Range: at("fettle.hcl", 9)}}, Needs: []query.Need{
				{Name: "base", Directory: "modules/base", Level: "availability", Layer: true, By: "repository",
					Range: at("fettle.hcl", 1)}}},
		}
	}
	return t
}
