package chaos

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// agent is an agent on a root directory of its own.
type agent struct {
	*node
	seen numbers
}

func (w *world) newAgent(i int) *agent {
	a := &agent{node: &node{name: "web" + strconv.Itoa(i+1), address: fmt.Sprintf("10.99.0.%d", i+11)}}
	w.attach(a.node)
	root := a.root()
	w.run("cd "+a.dir+" && mkdir upper work root bin && mount -t overlay overlay -o lowerdir=/,upperdir=upper,workdir=work root",
		"cd "+root+" && rm -rf var/lib/fettle etc/fettle run/fettle etc/motd && mkdir -p "+root+"/var/lib "+root+
			"/opt/chaos",
		// Never the real /dev by a bind: removing the tree would remove the machine's own devices.
		"mount -t proc proc "+root+"/proc", "mount -t tmpfs tmpfs "+root+"/sys", "mount -t tmpfs -o dev tmpfs "+root+"/dev",
		"cd "+root+"/dev && mknod -m 666 null c 1 3 && mknod -m 666 zero c 1 5 && mknod -m 666 full c 1 7 && mknod -m 666 random c 1 8 && mknod -m 666 urandom c 1 9 && ln -s /proc/self/fd fd",
		"cp "+w.program+" "+root+"/opt/chaos/fettle")
	a.argv = []string{"chroot", root, "/opt/chaos/fettle", "agent", "run"}
	return a
}

func (a *agent) root() string { return filepath.Join(a.dir, "root") }

func (a *agent) file(name string) string { return filepath.Join(a.root(), name) }

// enrolAll enrols agents at hubs in turn, and starts them.
func (w *world) enrolAll() {
	var all sync.WaitGroup
	for i, a := range w.agents {
		all.Go(func() {
			h := w.hubs[i%hubCount]
			w.must(a.name+" enrols", func(ctx context.Context) error {
				token, err := client.Post(ctx, h.client, route.CreateToken(),
					document.TokenRequest{Labels: map[string]string{"role": "web"}, Uses: 1})
				if err != nil {
					return err
				}
				cmd := a.command("chroot", a.root(), "/opt/chaos/fettle", "agent", "enrol", "--hub", "https://"+h.address+":7440",
					"--token-file", "-", "--name", a.name)
				cmd.Stdin = strings.NewReader(token.Secret)
				if out, err := cmd.CombinedOutput(); err != nil {
					return fmt.Errorf("%w: %s", err, out)
				}
				return nil
			})
			a.start()
		})
	}
	all.Wait()
}

// has is the number of the commit that the host has, 0 for none.
func (a *agent) has() int {
	text, _ := os.ReadFile(a.file("etc/motd"))
	n, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return n
}

// jobs are the jobs that ran on the host, in their order.
func (a *agent) jobs() []string {
	text, _ := os.ReadFile(a.file("var/log/jobs"))
	return strings.Fields(string(text))
}

// reported is the number of the newest report.
func (a *agent) reported() uint64 {
	names, _ := filepath.Glob(a.file("var/lib/fettle/agent/outbox/*.json"))
	newest := uint64(0)
	for _, n := range names {
		seq, _ := strconv.ParseUint(strings.TrimSuffix(filepath.Base(n), ".json"), 10, 64)
		newest = max(newest, seq)
	}
	return newest
}

// accepted is the newest assignment that the agent took; nil before the first.
func (a *agent) accepted() (*fleet.Assignment, []byte, error) {
	text, err := os.ReadFile(a.file("var/lib/fettle/agent/state.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	var kept struct {
		Envelope []byte `json:"envelope"`
	}
	if err == nil {
		err = json.Unmarshal(text, &kept)
	}
	if err != nil || kept.Envelope == nil {
		return nil, nil, err
	}
	var s fleet.Signed
	if err := json.Unmarshal(kept.Envelope, &s); err != nil {
		return nil, nil, err
	}
	payload, err := base64.StdEncoding.DecodeString(s.Payload)
	if err != nil {
		return nil, nil, err
	}
	assigned, err := fleet.ParseAssignment(payload)
	return &assigned, payload, err
}

// numbers are the assignments that an agent was seen with.
type numbers struct {
	newest  fleet.AssignmentNumber
	content map[fleet.AssignmentNumber]string
}

// look compares what an agent has now with what it had.
func (s *numbers) look(n fleet.AssignmentNumber, payload string) error {
	if s.content == nil {
		s.content = map[fleet.AssignmentNumber]string{}
	}
	was, known := s.content[n]
	s.content[n] = payload
	switch {
	case known && was != payload:
		return fmt.Errorf("the assignment %s had another content before:\n%s\n%s", n, was, payload)
	case n.Epoch < s.newest.Epoch || n.Epoch == s.newest.Epoch && n.Generation < s.newest.Generation:
		return fmt.Errorf("the assignment %s came after %s", n, s.newest)
	}
	s.newest = n
	return nil
}

// watchNumbers looks at all agents until ctx ends.
func (w *world) watchNumbers(ctx context.Context) {
	for ctx.Err() == nil {
		for _, a := range w.agents {
			assigned, payload, err := a.accepted()
			if err == nil && assigned != nil {
				err = a.seen.look(assigned.Number(), string(payload))
			}
			if err != nil {
				w.t.Errorf("%s: %v", a.name, err)
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// twice are the elements that occur more than once.
func twice(all []string) (out []string) {
	all = slices.Sorted(slices.Values(all))
	for i := 1; i < len(all); i++ {
		if all[i] == all[i-1] {
			out = append(out, all[i])
		}
	}
	return slices.Compact(out)
}
