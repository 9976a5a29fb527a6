package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// rollOut performs rollouts over SSH on five hosts that have the text two. A bad one stops at the first host, which
// gets its previous state, and a good one reaches all.
func (d *desk) rollOut(ms []*machine) {
	d.t.Helper()
	o := d.fettle(failed, "apply", "-t", "*", "--yes", "--rollout", "careful", "--var", "text=bad")
	d.says(o, "wave first: 1 target", "1 of 5 failed, and at most 0 may fail; changed targets are rolled back",
		fmt.Sprintf("Applied %d targets: %d skipped, 1 failed", len(ms), len(ms)-1), "It was rolled back.")
	for _, m := range ms {
		m.want("two", "cat", "/srv/site/index.html")
	}
	good := []string{"apply", "-t", "*", "--yes", "--rollout", "careful", "--var", "text=good"}
	p := d.begin(good...)
	begun := func() bool { return strings.Contains(p.out.String(), ": applying") }
	for end := time.Now().Add(time.Minute); !begun(); time.Sleep(20 * time.Millisecond) {
		if p.over() || time.Now().After(end) {
			d.t.Fatalf("no target is applying:\n%s", p.out)
		}
	}
	_ = p.Process.Signal(os.Interrupt)
	if code := d.end(p); code != failed {
		d.t.Errorf("the interrupted rollout ended with %d", code)
	}
	d.says(output{err: p.out.String()}, "Continue: run the same command again")
	o = d.fettle(0, good...)
	d.says(o, "wave rest: ", "completed", fmt.Sprintf("Applied %d targets: %d changed", len(ms), len(ms)))
	for _, m := range ms {
		m.want("good", "cat", "/srv/site/index.html")
	}
}

// gatedStrategy has a metric of this process, and an approval.
const gatedStrategy = `
rollout "gated" {
  min_ready_time = "1s"
  wave "first" {
    size = 1
    metric "load" {
      url      = %q
      query    = "up"
      max      = 1
      interval = "5s"
      count    = 2
    }
    approval "change board" {
      need       = 2
      not_author = true
    }
  }
  wave "rest" {}
}
`

// prometheus answers each query with the value 1, and counts them.
func (d *desk) prometheus() (url string, asked *atomic.Int32) {
	asked = &atomic.Int32{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		_, _ = io.WriteString(w, `{"status":"success","data":{"resultType":"vector","result":[{"value":[1,"1"]}]}}`)
	}))
	d.t.Cleanup(s.Close)
	return s.URL, asked
}

// gates performs a rollout with gates. The command ends when it waits for the operator, and continues later.
func (d *desk) gates(ms []*machine, asked *atomic.Int32) {
	d.t.Helper()
	command := []string{"apply", "-t", "*", "--yes", "--rollout", "gated", "--var", "text=gated"}
	o := d.fettle(failed, command...)
	d.says(o, "gate load: pass: the value is 1", `The wave first waits for the approval "change board"`,
		"A workstation cannot verify users", "the same command with --approve 'change board'")
	changed := 0
	for _, m := range ms {
		if strings.TrimSpace(m.Run(d.t, "cat", "/srv/site/index.html")) == "gated" {
			changed++
		}
	}
	if n := asked.Load(); changed != 1 || n < 2 {
		d.t.Errorf("%d hosts have the change after %d queries", changed, n)
	}
	d.says(d.fettle(0, append(command, "--approve", "change board")...), "gate change board: approved by ", "completed")
	for _, m := range ms {
		m.want("gated", "cat", "/srv/site/index.html")
	}
}

// stagedStrategy has a module on two hosts for which the other hosts wait.
const stagedStrategy = `
rollout "staged" {
  min_ready_time = "1s"
  wave "first" { size = 1 }
  wave "rest" {}
  after "db" {
    targets = [%q, %q]
    modules = ["web"]
  }
}
`

const stagedModule = `
variable "text" {
  type = string
}
file "/srv/site/module" { content = "${var.text}\n" }
`

// stages performs rollouts in which hosts with the module web wait for two hosts with the module db. A bad change of db
// reaches no host with web, and a good one reaches them last. text is the repository without modules.
func (d *desk) stages(ms []*machine, text string) {
	d.t.Helper()
	dbs, webs := ms[:2], ms[2:]
	module := func(ms []*machine, name string) {
		for _, m := range ms {
			text = strings.Replace(text, fmt.Sprintf("target %q {}", m.Name),
				fmt.Sprintf("target %q { modules = [%q] }", m.Name, name), 1)
		}
	}
	module(dbs, "db")
	module(webs, "web")
	d.repo(map[string]string{
		"fettle.hcl":             text + fmt.Sprintf(stagedStrategy, dbs[0].Name, dbs[1].Name),
		"modules/db/module.hcl":  stagedModule,
		"modules/web/module.hcl": stagedModule,
	})
	staged := func(code int, value string) output {
		return d.fettle(code, "apply", "-t", "*", "--yes", "--rollout", "staged", "--var", "text="+value)
	}
	d.says(staged(failed, "bad"), "wave first: 1 target", "1 of 5 failed", "It was rolled back.")
	for _, m := range webs {
		if m.has("/srv/site/module") {
			d.t.Errorf("%s did not wait for db", m.Name)
		}
	}
	o := staged(0, "good")
	rest := o.out
	for _, text := range []string{"wave first: 1 target", "wave rest: 1 target", "wave first of stage 2: 1 target",
		"wave rest of stage 2: 2 targets", "completed"} {
		_, after, found := strings.Cut(rest, text)
		if rest = after; !found {
			d.t.Fatalf("%q is missing or too early:\n%s", text, o.out)
		}
	}
	for _, m := range webs {
		m.want("good", "cat", "/srv/site/module")
	}
}
