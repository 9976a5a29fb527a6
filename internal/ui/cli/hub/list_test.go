package hub

import (
	"bytes"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/ui/cli"
)

// TestHubList: the list shows the state of each hub, and what happens if a hub fails.
func TestHubList(t *testing.T) {
	hub := func(name string, lag uint64, reachable, leader bool) document.HubMember {
		return document.HubMember{Name: name, HubURLs: []string{"https://" + name + ":7440"}, Reachable: reachable,
			Current: reachable && lag == 0, Lag: lag, Leader: leader, Authority: leader, Joined: 1, Reason: "joined",
			Agents: 120}
	}
	one := hub("hub1", 0, true, true)
	one.Voter, one.Domain, one.Load = new(bool), "dc1", &fleet.HubLoad{CPU: 0.03, DiskFree: 0.5}
	*one.Voter = true
	const head = "HUB   STATE                DUTIES                AGENTS  LOAD    DOMAIN  SINCE  ADDRESS            " +
		"REASON\n"
	const first = "hub1  connected            leader, vote, CA key  120     CPU 3%  dc1     1h     https://hub1:7440  " +
		"joined\n"
	for name, c := range map[string]struct {
		page document.HubPage
		want string
	}{
		"two hubs": {
			document.HubPage{Hubs: []document.HubMember{one, hub("hub2", 3, true, false)},
				Copies: 2, Complete: true},
			head + first +
				"hub2  connected, 3 behind  -                     120     -       -       1h     https://hub2:7440  joined\n\n" +
				"All data is stored on 2 hubs. If one hub is unavailable, nothing can be changed, and agents continue with " +
				"their assignments. A third hub prevents this.\n",
		},
		"three hubs": {
			document.HubPage{Hubs: []document.HubMember{one, hub("hub2", 3, true, false),
				hub("hub3", 0, false, false)}, Copies: 3, ToleratedFailures: 1},
			head + first +
				"hub2  connected, 3 behind  -                     120     -       -       1h     https://hub2:7440  joined\n" +
				"hub3  away                 -                     -       -       -       1h     https://hub3:7440  joined\n\n" +
				"Some data does not have all of its copies yet. One hub can fail without an interruption.\n",
		},
		"a lost hub": {
			document.HubPage{Hubs: []document.HubMember{one}, Copies: 1, Complete: true,
				Lost: []document.LostHub{{Name: "hub2", HubURLs: []string{"https://hub2:7440"}, Joined: 1}}},
			"HUB   STATE      DUTIES                AGENTS  LOAD    DOMAIN  SINCE  ADDRESS            REASON\n" +
				"hub1  connected  leader, vote, CA key  120     CPU 3%  dc1     1h     https://hub1:7440  joined\n" +
				"hub2  lost       -                     -       -       -       1h     https://hub2:7440  " +
				"in the restored backup\n\n" +
				"All data is stored on this hub only. If it is unavailable, agents continue with their assignments.\n\n" +
				"A lost hub is no longer part of the fleet, because the fleet was restored from a backup. Never start it " +
				"again.\nTo end the trust in it: fettle hub retire hub2\n",
		},
	} {
		var out bytes.Buffer
		now := func() time.Time { return time.Unix(3600, 1) }
		showHubs(&cli.Printer{App: &cli.App{Stdout: &out, Now: now}}, c.page)
		if out.String() != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, out.String(), c.want)
		}
	}
}
