package cli_test

import (
	"context"
	"os"

	"github.com/rogpeppe/go-internal/testscript"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/hub/api/apitest"
)

// cmdHub starts a hub that is asked over the network, and says where and of which
// authority it is: hub. Its tokens are read, operate, approve and admin.
func cmdHub(ts *testscript.TestScript, _ bool, _ []string) {
	dir := ts.MkAbs("hub")
	ts.Check(os.Mkdir(dir, 0o700))
	hub, err := apitest.New(dir)
	ts.Check(err)
	ts.Defer(func() { _ = hub.Close() })
	server, err := apitest.Serve(hub.Handler(), "hub")
	ts.Check(err)
	ts.Defer(func() {
		server.CloseClientConnections()
		server.Close()
	})
	authority, err := client.Authority(context.Background(), server.URL)
	ts.Check(err)
	ts.Setenv("HUB", server.URL)
	ts.Setenv("AUTHORITY", authority)
}
