package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// tool is one way of doing the work on some hosts.
type tool struct {
	name, about string
	settles     bool                  // it leaves something on the hosts for the next time
	once        bool                  // it is measured in one round
	argv        func(w work) []string // nil: it does not do this work
	env         []string
}

// The tools that ratios are taken to.
const (
	limitName   = "limit"
	uploadName  = "limit, upload"
	fettleName  = "fettle"
	ansibleName = "ansible"
)

// place is where the files of the tools for some hosts are.
type place struct {
	dir   string
	hosts []*host
	net   int // by which hosts are reached: 1 themselves, 2 through the relay
}

func (p place) address(i int) string { return addressOf(p.net, i) }

// toolsFor writes down the work for all tools.
func (b *bench) toolsFor(n int, far bool) ([]tool, error) {
	p := place{dir: filepath.Join(b.base, fmt.Sprintf("tools-%d-%v", n, far)), hosts: b.hosts[:n], net: 1}
	if far {
		p.net = 2
	}
	if err := os.Mkdir(p.dir, 0o755); err != nil {
		return nil, err
	}
	limit := func(upload bool) func(place) (tool, error) {
		return func(p place) (tool, error) { return b.limit(p, upload) }
	}
	makers := []func(place) (tool, error){limit(false), limit(true), b.fettleTool}
	if b.peers && n <= b.ansible {
		makers = append(makers, b.ansibleTool)
	}
	var all []tool
	for _, make := range makers {
		t, err := make(p)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

// limit is OpenSSH alone, which may bring fettle's program along.
func (b *bench) limit(p place, upload bool) (tool, error) {
	self, err := os.Executable()
	if err != nil {
		return tool{}, err
	}
	var list strings.Builder
	for i, h := range p.hosts {
		fmt.Fprintf(&list, "%s %s\n", h.name, p.address(i))
	}
	file := filepath.Join(p.dir, "list")
	err = os.WriteFile(file, []byte(list.String()), 0o644)
	if upload {
		return tool{
			name: uploadName, about: "the same, and it copies fettle's binary: the minimum for a first contact that installs a binary",
			argv: func(w work) []string {
				if !w.isFirst() {
					return nil
				}
				return []string{self, "contact", file, strconv.Itoa(b.parallel), "", b.fettle}
			},
		}, err
	}
	return tool{
		name: limitName, about: "ssh HOST 'sh -s' with the four operations as one script, each behind its test; the same number of hosts at once; it neither compares nor reports",
		argv: func(w work) []string {
			control := ""
			if w.isKept() {
				control = filepath.Join(b.base, "c", "%C")
			}
			return []string{self, "contact", file, strconv.Itoa(b.parallel), control}
		},
	}, err
}

// fettleTool is fettle with its repository.
func (b *bench) fettleTool(p place) (tool, error) {
	var targets strings.Builder
	// The repositories of all works are one, for the hosts that they share.
	fmt.Fprintf(&targets, "policy {\n  repository = \"bench\"\n}\n")
	for i, h := range p.hosts {
		fmt.Fprintf(&targets, "target %q {\n  modules = [\"bench\"]\n  ssh { host = %q }\n}\n", h.name, p.address(i))
	}
	module := fmt.Sprintf(`directory "bench" {
  path = %q
  mode = "0750"
}
file %q {
  mode    = "0640"
  content = "host = ${target.name}\n%s"
}
file_line %q {
  match = "^limit = "
  line  = %q
}
exec "ready" {
  command = ["touch", %q]
  creates = %q
  after   = [directory.bench]
}
`, directory, file, strings.Repeat(`setting = value\n`, 60), shared, newLine, ready, ready)
	repo := filepath.Join(p.dir, "repo")
	if err := writeAll(repo, map[string]string{"fettle.hcl": targets.String(),
		"modules/bench/module.hcl": module}); err != nil {
		return tool{}, err
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."},
		{"-c", "user.name=bench", "-c", "user.email=bench@localhost", "commit", "-q", "-m", "bench"}} {
		if out, err := exec.Command("git", append([]string{"-C", repo}, args...)...).CombinedOutput(); err != nil {
			return tool{}, fmt.Errorf("git %s: %w\n%s", args[0], err, out)
		}
	}
	return tool{
		name: fettleName, about: "fettle apply -t '*' --yes, over SSH also on a host with a hub; includes reading the repository, compiling for each host, history and undo data", settles: true,
		argv: func(work) []string {
			return []string{b.fettle, "apply", "-C", repo, "-t", "*", "--via", "ssh", "--yes", "--parallel",
				strconv.Itoa(b.parallel)}
		},
		env: []string{"XDG_RUNTIME_DIR=" + filepath.Join(b.base, "r"), "XDG_STATE_HOME=" + filepath.Join(b.base, "state"),
			"XDG_CACHE_HOME=" + b.readings()},
	}, nil
}

// ansibleTool is Ansible with the settings that make it fast.
func (b *bench) ansibleTool(p place) (tool, error) {
	var inventory strings.Builder
	for i, h := range p.hosts {
		fmt.Fprintf(&inventory, "%s ansible_host=%s\n", h.name, p.address(i))
	}
	playbook := fmt.Sprintf(`- hosts: all
  gather_facts: false
  strategy: free
  tasks:
  - file: {path: %[1]s, state: directory, mode: '0750'}
  - copy: {dest: %[2]s, mode: '0640', content: "host = {{ inventory_hostname }}\n%[3]s"}
  - lineinfile: {path: %[4]s, regexp: '^limit = ', line: '%[5]s'}
  - command: {argv: [touch, %[6]s], creates: %[6]s}
`, directory, file, strings.Repeat(`setting = value\n`, 60), shared, newLine, ready)
	err := writeAll(p.dir, map[string]string{"inventory": inventory.String(), "playbook.yml": playbook, "ansible.cfg": ""})
	return tool{
		name: ansibleName, about: "ansible-playbook, pipelining, kept connections, no facts, strategy free; as many forks as hosts at once",
		once: true,
		argv: func(work) []string {
			return []string{"ansible-playbook", "-i", filepath.Join(p.dir, "inventory"), "-f", strconv.Itoa(b.parallel),
				filepath.Join(p.dir, "playbook.yml")}
		},
		env: []string{
			"ANSIBLE_CONFIG=" + filepath.Join(p.dir, "ansible.cfg"), "ANSIBLE_PIPELINING=1",
			"ANSIBLE_PYTHON_INTERPRETER=/usr/bin/python3", "ANSIBLE_NOCOLOR=1",
			"ANSIBLE_HOME=" + filepath.Join(p.dir, "ansible"), "ANSIBLE_LOCAL_TEMP=" + filepath.Join(p.dir, "ansible/tmp"),
			"ANSIBLE_SSH_ARGS=-C -o ControlMaster=auto -o ControlPersist=60s",
			"ANSIBLE_SSH_CONTROL_PATH_DIR=" + filepath.Join(b.base, "c"), "LC_ALL=C.UTF-8",
		},
	}, err
}

func writeAll(dir string, files map[string]string) error {
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
