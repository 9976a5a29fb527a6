package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// ansibleLargest is the number of files above which a run takes minutes.
const ansibleLargest = 100

// ansibleTools are the ways of writing the files down for Ansible. The loop
// repairs no faster than it finds nothing to do, which takes long enough.
func ansibleTools() []tool {
	loop := ansibleTool("ansible, loop", "the same with one copy in a loop over n files", ansibleLoop)
	loop.command = func(p place, w work) []string {
		if w == firstApply || w == noChange {
			return ansiblePlay(p.dir)
		}
		return nil
	}
	return []tool{
		ansibleTool("ansible, tree",
			"ansible-playbook, local connection with pipelining, no facts; one copy of a directory", func(p place) string {
				return fmt.Sprintf("  - copy: {src: %s/, dest: %s/, mode: '0644', directory_mode: '0755'}\n", p.source, p.dest)
			}),
		loop,
	}
}

func ansibleTool(name, about string, tasks func(p place) string) tool {
	return tool{
		name: name, about: about, largest: ansibleLargest, onceIfSlow: true, readsAll: true,
		prepare: func(p place) error { return writePlaybook(p.dir, tasks(p)) },
		command: func(p place, w work) []string {
			if w == coldList {
				return nil
			}
			return ansiblePlay(p.dir)
		},
		env: func(p place) []string { return ansibleEnv(p.dir) },
	}
}

// writePlaybook writes what ansibleEnv and ansiblePlay name.
func writePlaybook(dir, tasks string) error {
	if err := os.WriteFile(filepath.Join(dir, "ansible.cfg"), nil, 0o644); err != nil {
		return err
	}
	head := "- hosts: localhost\n  connection: local\n  gather_facts: false\n  tasks:\n"
	return os.WriteFile(filepath.Join(dir, "playbook.yml"), []byte(head+tasks), 0o644)
}

func ansiblePlay(dir string) []string {
	return []string{"ansible-playbook", "-i", "localhost,", filepath.Join(dir, "playbook.yml")}
}

// ansibleEnv has the settings that make it fast, and keeps it off the settings
// and directories of whoever measures.
func ansibleEnv(dir string) []string {
	return []string{
		"ANSIBLE_CONFIG=" + filepath.Join(dir, "ansible.cfg"), "ANSIBLE_PIPELINING=1",
		"ANSIBLE_PYTHON_INTERPRETER=/usr/bin/python3", "ANSIBLE_NOCOLOR=1",
		"ANSIBLE_HOME=" + filepath.Join(dir, "ansible"), "ANSIBLE_LOCAL_TEMP=" + filepath.Join(dir, "ansible/tmp"),
		"ANSIBLE_REMOTE_TEMP=" + filepath.Join(dir, "ansible/tmp"),
		"LC_ALL=C.UTF-8",
	}
}

func ansibleLoop(p place) string {
	var b strings.Builder
	loop := func(task string, items []string) {
		fmt.Fprintf(&b, "  - %s\n    loop: [%s]\n", task, strings.Join(items, ", "))
	}
	loop(fmt.Sprintf("file: {path: '%s/{{ item }}', state: directory, mode: '0755'}", p.dest),
		append([]string{"."}, directories(p.n)...))
	var files []string
	for i := range p.n {
		files = append(files, name(i))
	}
	loop(fmt.Sprintf("copy: {src: '%s/{{ item }}', dest: '%s/{{ item }}', mode: '0644'}", p.source, p.dest), files)
	return b.String()
}
