package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

const (
	hubCount   = 3
	agentCount = 8
	hubDisk    = "96M" // of each hub
)

// world is the fleet with all that it needs. A test sets the first fields.
type world struct {
	jumps    bool                     // clocks of hubs can jump
	hosts    int                      // number of agents
	settings string                   // more text of fettle.hcl
	module   func(int) string         // the module of a commit; nil: usual
	build    func(*testing.T, string) // builds the program; nil: the one of this tree

	t       *testing.T
	dir     string
	program string
	hubs    []*hub
	agents  []*agent
	began   time.Time

	mu   sync.Mutex
	head int // the number of the newest commit
}

// hub is one place for a hub: another one may have it later.
type hub struct {
	*node
	named  string // the hub that is there now
	turn   int    // how many hubs were there before
	client *client.Client
	full   bool // its disk is
}

func (h *hub) store() string  { return filepath.Join(h.dir, "disk", "hub") }
func (h *hub) disk() string   { return filepath.Join(h.dir, "disk") }
func (h *hub) socket() string { return filepath.Join(h.dir, "socket") }
func (h *hub) clock() string  { return filepath.Join(h.dir, "clock") }

// run runs commands, and ends the test if one fails.
func (w *world) run(commands ...string) {
	w.t.Helper()
	for _, c := range commands {
		w.exec(exec.Command("sh", "-c", c))
	}
}

func (w *world) exec(cmd *exec.Cmd) string {
	w.t.Helper()
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		w.t.Fatalf("%s: %v\n%s%s", strings.Join(cmd.Args, " "), err, out.String(), said.String())
	}
	return out.String()
}

// newWorld makes the network, the repository, the hubs and the agents of a world, and starts all.
func newWorld(t *testing.T, w *world) *world {
	t.Helper()
	// Not t.TempDir: nothing may be removed below mounts.
	dir, err := os.MkdirTemp("", "fettle-chaos-")
	if err != nil {
		t.Fatal(err)
	}
	w.t, w.dir, w.began = t, dir, time.Now()
	if w.module == nil {
		w.module = usual
	}
	t.Cleanup(w.close)
	w.run("mount -t tmpfs -o size=4g,mode=0700 chaos "+w.dir, "mkdir -p /run/netns && mount -t tmpfs netns /run/netns",
		"ip link set lo up && ip link add br0 type bridge && ip link set br0 up")
	w.program = filepath.Join(w.dir, "fettle")
	if w.build != nil {
		w.build(t, w.program)
	} else {
		buildShifted(t, w.program, w.jumps)
	}
	w.beginSite()
	for i := range hubCount {
		w.hubs = append(w.hubs, w.newHub(i))
	}
	for i := range w.hosts {
		w.agents = append(w.agents, w.newAgent(i))
	}
	w.beginHubs()
	w.enrolAll()
	return w
}

// attach gives a node a namespace and an address in the network.
func (w *world) attach(n *node) {
	n.dir = filepath.Join(w.dir, n.name)
	w.run("mkdir "+n.dir, "ip netns add "+n.name, "ip link add v"+n.name+" type veth peer name eth0 netns "+n.name,
		"ip link set v"+n.name+" master br0 up", "ip -n "+n.name+" link set lo up",
		"ip -n "+n.name+" addr add "+n.address+"/24 dev eth0",
		"ip -n "+n.name+" link set eth0 up")
}

func (w *world) newHub(i int) *hub {
	h := &hub{node: &node{name: "place" + strconv.Itoa(i+1), address: fmt.Sprintf("10.99.0.%d", i+1)}}
	w.attach(h.node)
	w.run("mkdir "+h.disk(), "mount -t tmpfs -o size="+hubDisk+",mode=0700 disk "+h.disk())
	h.argv = []string{w.program, "hub", "run", "--dir", h.store(), "--socket", h.socket()}
	h.env = []string{envClock + "=" + h.clock()}
	var err error
	if h.client, err = client.New(client.Login{Hub: "unix://" + h.socket()}); err != nil {
		w.t.Fatal(err)
	}
	return h
}

// rename gives the place to a new hub.
func (h *hub) rename() {
	h.turn++
	h.named = fmt.Sprintf("hub%s.%d", strings.TrimPrefix(h.name, "place"), h.turn)
	h.named = strings.ReplaceAll(h.named, ".", "-")
}

// beginHubs makes the first hub, and lets the others join. Each of them gets the key of the
// fleet CA, so that each can be retired.
func (w *world) beginHubs() {
	first := w.hubs[0]
	first.rename()
	w.exec(first.command(w.program, "hub", "init", "--fleet", "chaos", "--name", first.named, "--dir", first.store(),
		"--address", first.address,
		"--repository", "file://"+w.site(), "--poll", "1s"))
	w.keepEvents(first)
	first.start()
	for i, h := range w.hubs[1:] {
		w.join(h, first, i+1)
	}
}

// keepEvents lets a hub show all events of a target: the judge counts them. Each hub has its own
// setting.
func (w *world) keepEvents(h *hub) {
	file := filepath.Join(h.store(), "hub.json")
	text, err := os.ReadFile(file)
	var set map[string]any
	if err == nil {
		err = json.Unmarshal(text, &set)
	}
	if err == nil {
		set["retention"] = map[string]int{"events_of_target": 100_000}
		text, err = json.Marshal(set)
	}
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// join makes a new hub of a place, through another hub.
func (w *world) join(h, by *hub, others int) {
	var token document.NewToken
	w.must("a token for a hub", func(ctx context.Context) (err error) {
		token, err = client.Post(ctx, by.client, route.CreateToken(),
			document.TokenRequest{Hub: true, Uses: 1, Expires: int64(time.Hour)})
		return err
	})
	h.rename()
	w.must(h.named+" joins", func(ctx context.Context) error {
		cmd := h.command(w.program, "hub", "join", "https://"+by.address+":7440", "--token-file", "-", "--name", h.named,
			"--dir", h.store(), "--address", h.address)
		cmd.Stdin = strings.NewReader(token.Secret)
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
	w.run("cp -a " + filepath.Join(by.store(), "authority") + " " + h.store() + "/")
	w.keepEvents(h)
	h.start()
	w.must(h.named+" has everything", func(ctx context.Context) error { return w.whole(ctx, by, others+1) })
}

// whole tells whether a hub reports that so many hubs have everything.
func (w *world) whole(ctx context.Context, by *hub, n int) error {
	p, err := client.Get(ctx, by.client, route.Hubs())
	if err != nil {
		return err
	}
	here, leads := 0, 0
	for _, h := range p.Hubs {
		if h.Reachable {
			here++
		}
		if h.Leader {
			leads++
		}
	}
	if len(p.Hubs) != n || here != n || leads != 1 || !p.Complete || p.Copies != min(n, 3) {
		return fmt.Errorf("%s sees %+v", by.named, p)
	}
	return nil
}

// patience is how long anything may take that must succeed: this machine may be busy.
const patience = 4 * time.Minute

// must repeats something until it succeeds.
func (w *world) must(what string, do func(ctx context.Context) error) {
	w.t.Helper()
	if err := w.eventually(do); err != nil {
		w.fail("%s: not within %s: %v", what, patience, err)
	}
}

func (w *world) eventually(do func(ctx context.Context) error) error {
	for end := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
		ctx, done := context.WithTimeout(w.t.Context(), 30*time.Second)
		err := do(ctx)
		done()
		if err == nil || time.Now().After(end) {
			return err
		}
	}
}

func (w *world) nodes() (all []*node) {
	for _, h := range w.hubs {
		all = append(all, h.node)
	}
	for _, a := range w.agents {
		all = append(all, a.node)
	}
	return all
}

// close ends all processes, and removes the network and the mounts, so that another test can make them again. It
// removes the directory only if it is empty: whatever is mounted there stays as it is.
func (w *world) close() {
	for _, n := range w.nodes() {
		n.kill()
		w.remove("ip", "link", "delete", "v"+n.name)
		w.remove("ip", "netns", "delete", n.name)
	}
	w.remove("ip", "link", "delete", "br0")
	w.remove("umount", "/run/netns")
	w.remove("umount", "--recursive", "--lazy", w.dir)
	if err := os.Remove(w.dir); err != nil {
		w.t.Error(err)
	}
}

// remove runs a command that removes a part of the world. If it fails, the test fails, but it continues.
func (w *world) remove(name string, args ...string) {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		w.t.Errorf("%s %s: %v: %s", name, strings.Join(args, " "), err, out)
	}
}
