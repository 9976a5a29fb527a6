package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/test/sample"
)

// etcdCluster is a cluster whose members form etcd, and whose task stores one key.
const etcdCluster = atOnce + `cluster "store" {
  labels      = { role = "web" }
  min_members = 3
  check "formed" {
    http     = "http://127.0.0.1:2379/health"
    contains = "\"health\":\"true\""
    every    = "5s"
  }
  task "template" {
    after    = [check.formed]
    command  = ["/usr/local/bin/import", "VERSION"]
    timeout  = "TIMEOUT"
    triggers = { version = "VERSION" }
    verify {
      exec     = "/usr/bin/etcdctl get template"
      contains = "VERSION"
    }
  }
}
`

// etcdModule is a member of the cluster. The unit replaces the unit of the package, and is active although the
// member cannot join. The import records each begin, and waits while /run/hold exists.
const etcdModule = `file "/etc/systemd/system/etcd.service" {
  content = <<-EOT
    [Service]
    EnvironmentFile=/etc/default/etcd
    ExecStart=/bin/sh -c "while :; do /usr/bin/etcd; sleep 1; done"
    [Install]
    WantedBy=multi-user.target
  EOT
  before = [package.etcd-server]
}
file "/etc/default/etcd" {
  content = <<-EOT
    ETCD_NAME=${target.name}
    ETCD_DATA_DIR=/var/lib/etcd/${local.token}
    ETCD_LISTEN_PEER_URLS=http://0.0.0.0:2380
    ETCD_LISTEN_CLIENT_URLS=http://0.0.0.0:2379
    ETCD_ADVERTISE_CLIENT_URLS=http://${local.address[target.name]}:2379
    ETCD_INITIAL_ADVERTISE_PEER_URLS=http://${local.address[target.name]}:2380
    ETCD_INITIAL_CLUSTER=MEMBERS
    ETCD_INITIAL_CLUSTER_STATE=new
    ETCD_INITIAL_CLUSTER_TOKEN=${local.token}
  EOT
  before = [package.etcd-server]
  notify = [service.etcd.restart]
}
service "etcd" {
  running = true
  after   = [package.etcd-server]
}
locals {
  token   = target.name == "web3" ? "THIRD" : "cluster"
  address = { ADDRESSES }
}
package "etcd-server" {}
package "etcd-client" {}
file "/usr/local/bin/import" {
  mode    = "0755"
  content = <<-EOT
    #!/bin/sh -e
    echo "$1 $FETTLE_TASK_FENCE" >>/var/log/imports
    while [ -e /run/hold ]; do sleep 0.1; done
    exec etcdctl put template "$1"
  EOT
}
file "/var/log/ended" {
  content = "TEXT\n"
  after   = [package.etcd-server, package.etcd-client]
}
`

// clusterOf is a fleet whose members form a cluster.
type clusterOf struct {
	*hubsOf
	version, timeout, token string
}

// apply commits the cluster, and waits until all hosts have applied it.
func (c *clusterOf) apply(text string) {
	c.t.Helper()
	var members, addresses []string
	for _, a := range c.agents {
		members = append(members, fmt.Sprintf("%s=http://%s:2380", a.Name, a.Addr))
		addresses = append(addresses, fmt.Sprintf("%s = %q", a.Name, a.Addr))
	}
	c.policy = strings.NewReplacer("VERSION", c.version, "TIMEOUT", c.timeout).Replace(etcdCluster)
	c.module = strings.NewReplacer("MEMBERS", strings.Join(members, ","), "ADDRESSES", strings.Join(addresses, ", "),
		"THIRD", c.token).Replace(etcdModule)
	if len(c.given) == 0 {
		c.begin()
		return
	}
	c.commit(text)
	c.arrived()
}

// TestCluster forms a cluster of etcd, whose task stores a key once for each version.
func TestCluster(t *testing.T) {
	sample.Group(t, 4)
	t.Parallel()
	c := &clusterOf{hubsOf: newFleetOfHubs(t, 1, 3), version: "v1", timeout: "1m", token: "cluster"}
	c.apply("one")
	c.verdict("ready")
	c.imports("v1", 1)

	c.apply("two") // the task has the same content
	c.version = "v2"
	c.apply("three")
	c.imports("v2", 1)
	c.imports("v1", 1)

	executorKilled(c)
	executorUnplugged(c)
	cannotJoin(c)
}

// scope is a part of the document of fettle scope show.
type scopeDoc struct {
	Scope struct {
		Verdict string `json:"verdict"`
		Reasons []struct {
			Subject string   `json:"subject"`
			Targets []string `json:"targets"`
		} `json:"reasons"`
	} `json:"scope"`
	Tasks []struct {
		Phase  string `json:"phase"`
		Decide bool   `json:"decide"`
	} `json:"tasks"`
}

// show returns what the hub shows of the cluster.
func (c *clusterOf) show() scopeDoc { return c.scope("cluster/store") }

// scope returns the document of the hub about a scope, the zero value if it has none.
func (f *hubsOf) scope(id string) (d scopeDoc) {
	r := f.hubs[0].Exec("fettle", "scope", "show", id, "--json")
	if r.ExitCode != 0 || json.Unmarshal([]byte(r.Stdout), &d) != nil {
		return scopeDoc{}
	}
	return d
}

// verdict waits until the cluster has a verdict.
func (c *clusterOf) verdict(want string) (d scopeDoc) {
	c.t.Helper()
	c.await("the cluster is "+want, func() bool {
		d = c.show()
		return d.Scope.Verdict == want
	})
	return d
}

// imports waits until the task is done, and checks how often it ran with a version: each time with a higher fence.
func (c *clusterOf) imports(version string, n int) {
	c.t.Helper()
	c.await(version+" is imported", func() bool {
		d := c.show()
		return len(d.Tasks) == 1 && d.Tasks[0].Phase == "done" && len(c.fences(version)) >= n
	})
	if fences := c.fences(version); len(fences) != n || len(slices.Compact(slices.Sorted(slices.Values(fences)))) != n {
		c.t.Errorf("%s was imported with the fences %v, want %d of them", version, fences, n)
	}
}

// fences returns the fences of all begun imports of a version.
func (c *clusterOf) fences(version string) (out []string) {
	for _, a := range c.agents {
		for line := range strings.Lines(a.Exec("cat", "/var/log/imports").Stdout) {
			if fence, ok := strings.CutPrefix(line, version+" "); ok {
				out = append(out, strings.TrimSpace(fence))
			}
		}
	}
	return out
}

// importing commits a version whose import waits for release, and returns the member that imports it.
func (c *clusterOf) importing(version string) (executor *machine) {
	c.t.Helper()
	for _, a := range c.agents {
		a.Run(c.t, "touch", "/run/hold")
	}
	c.version = version
	c.apply(version)
	c.await("the import begins", func() bool {
		for _, a := range c.agents {
			if strings.Contains(a.Exec("cat", "/var/log/imports").Stdout, version+" ") {
				executor = a
			}
		}
		return executor != nil
	})
	return executor
}

// release lets imports continue.
func (c *clusterOf) release() {
	c.t.Helper()
	for _, a := range c.agents {
		a.Run(c.t, "rm", "/run/hold")
	}
}

// undecided waits until an operator must decide about the task.
func (c *clusterOf) undecided() {
	c.t.Helper()
	c.await("an operator must decide", func() bool {
		d := c.show()
		return len(d.Tasks) == 1 && d.Tasks[0].Decide
	})
}

// retry lets an operator try the task again.
func (c *clusterOf) retry() {
	c.t.Helper()
	c.hubs[0].Run(c.t, "fettle", "task", "retry", "cluster/store", "template", "--reason", "nothing was stored")
	c.imports(c.version, 2)
	c.verdict("ready")
}

// executorKilled kills the executor during the import. The condition does not hold, so an operator decides.
func executorKilled(c *clusterOf) {
	c.importing("v3").Run(c.t, "systemctl", "kill", "--signal=KILL", "fettle-agent")
	c.undecided()
	c.verdict("failed")
	c.release()
	c.retry()
}

// executorUnplugged cuts the network of the executor during the import, so the import fails for want of a quorum. No
// other member imports meanwhile, also after the hub knows that the result is unknown. The late result counts.
func executorUnplugged(c *clusterOf) {
	c.timeout = "15s"
	executor := c.importing("v4")
	executor.Unplug(c.t)
	if full() {
		c.undecided()
	}
	c.release()
	c.await("the import ends", func() bool {
		return executor.Exec("pgrep", "--full", "bin/import|etcdctl put").ExitCode == 1
	})
	executor.Plug(c.t)
	c.await("the task failed", func() bool {
		d := c.show()
		return len(d.Tasks) == 1 && d.Tasks[0].Phase == "failed"
	})
	if fences := c.fences("v4"); len(fences) != 1 {
		c.t.Errorf("v4 was imported with the fences %v, want one", fences)
	}
	c.retry()
}

// cannotJoin gives one member a configuration that is valid, and with which it cannot join. All hosts are ready, and
// the cluster is not.
func cannotJoin(c *clusterOf) {
	c.token = "other"
	c.apply("five")
	d := c.verdict("failed")
	if r := d.Scope.Reasons; len(r) == 0 || r[0].Subject != "check" || !slices.Equal(r[0].Targets, []string{"web3"}) {
		c.t.Errorf("the reasons are %+v", r)
	}
	hub := c.hubs[0]
	c.await("all hosts are ready", func() bool {
		return strings.Contains(hub.Exec("fettle", "status", "--fleet").Stdout, "3 ready")
	})
	c.t.Logf("\n%s\n%s", hub.Run(c.t, "fettle", "status", "--fleet"), hub.Run(c.t, "fettle", "explain", "cluster/store"))
	c.imports(c.version, 2)
}
