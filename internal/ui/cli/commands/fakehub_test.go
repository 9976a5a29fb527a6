package commands_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent"
	"fettle.dev/fettle/internal/fleet/agent/signed"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/host/local"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/repo"
)

// cmdDeadHub leaves the socket of a hub of this machine that was killed: deadhub.
func cmdDeadHub(ts *testscript.TestScript, _ bool, _ []string) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: ts.MkAbs("hub.sock"), Net: "unix"})
	ts.Check(err)
	l.SetUnlinkOnClose(false)
	ts.Check(l.Close())
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// acceptHere accepts commands for web1 as an agent does: of keys in allowed_signers of a
// directory, which also remembers the commands.
func acceptHere(dir, authority string) func(string) (wire.Accepted, error) {
	files, failed := local.Open(dir, local.Options{})
	memory := &signed.Memory{Files: files, Dir: "/commands", Trust: func() (content.CommandTrust, error) {
		text, err := os.ReadFile(filepath.Join(dir, "allowed_signers"))
		if err = errors.Join(err, failed); err != nil {
			return content.CommandTrust{}, err
		}
		signers, err := content.ParseSigners("allowed_signers", text)
		fleetFile := "fleet-sha256-" + strings.TrimPrefix(authority, "sha256:")
		return content.CommandTrust{Signers: signers, Fleets: []string{fleetFile}, Target: "web1", Now: fakeNow.Unix()}, err
	}}
	return func(text string) (wire.Accepted, error) { return agent.AcceptCall(memory, text) }
}

// toyEnrolled adds the targets that a fleet has besides.
func toyEnrolled(t repo.Tree, all []query.Target) []query.Target {
	text, err := t.ReadFile(fleet.EnrolledFile)
	if err != nil {
		return all
	}
	var doc struct {
		Enrolled map[string]struct{ Labels map[string]string }
	}
	if json.Unmarshal(text, &doc) != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(doc.Enrolled)) {
		i := slices.IndexFunc(all, func(t query.Target) bool { return t.Name == name })
		if i < 0 {
			all = append(all, query.Target{Name: name})
			i = len(all) - 1
		}
		all[i].Labels, all[i].Enrolled = doc.Enrolled[name].Labels, true
	}
	return all
}

// cmdSilent listens at an address and never answers, and makes a token for it: silent.
func cmdSilent(ts *testscript.TestScript, _ bool, _ []string) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { _ = l.Close() }) // the kernel accepts for it
	token, _, err := pki.NewToken(pki.Terms{Hub: true, Uses: 1, Expires: time.Now().Add(time.Hour).Unix()}, [32]byte{},
		"root", time.Now())
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs("token"), []byte(token.Text()), 0o600))
	ts.Setenv("SILENT", "https://"+l.Addr().String())
}

// joinHub makes the directory of a hub as the binary does.
func joinHub(ctx context.Context, j hub.JoinOptions) (hub.Settings, error) {
	files, err := local.Open("/", local.Options{})
	if err != nil {
		return hub.Settings{}, err
	}
	defer files.Close()
	j.Files = files
	return hub.Join(ctx, j)
}

// saveFake writes a backup without files.
func saveFake(dir string, state document.HubState, out io.Writer) error {
	return json.NewEncoder(out).Encode(map[string]any{"dir": dir, "state": state})
}
