package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// fettleHost are the ways of fettle on a mixed host.
func fettleHost(bin string) []tool {
	with := func(name, about string, flags ...string) tool {
		argv := append([]string{hostInput + "/fettle", "apply", "-C", hostInput + "/repo", "--yes", "--state",
			hostInput + "/state"}, flags...)
		return tool{
			name: name, about: about, settles: true,
			prepare: func(p place) error { return prepareFettleHost(p, bin) },
			command: func(place, work) []string { return argv },
		}
	}
	return []tool{
		with(fettleName, "fettle apply in a git repository with one module"),
		with("fettle, every byte", "the same with --verify", "--verify"),
	}
}

func prepareFettleHost(p place, bin string) error {
	program, err := os.ReadFile(bin)
	if err != nil {
		return err
	}
	if err := os.WriteFile(p.dest+hostInput+"/fettle", program, 0o755); err != nil {
		return err
	}
	module := filepath.Join(p.dest+hostInput, "repo/modules/data")
	if err := hostSources(filepath.Join(module, "files")); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(module, "web.tmpl"), []byte(hostText("${name}", "${port}")), 0o644); err != nil {
		return err
	}
	return prepareRepository(p.dest+hostInput+"/repo", []string{fettleHostModule()})
}

func fettleHostModule() string {
	var b strings.Builder
	for _, name := range hostPackages() {
		fmt.Fprintf(&b, "package %q {}\n", name)
	}
	for i := range hostAccounts {
		fmt.Fprintf(&b, "user %q {\n  home = \"/nonexistent\"\n  shell = \"/usr/sbin/nologin\"\n  create_home = false\n}\n",
			hostAccount(i))
	}
	for _, d := range hostFolders() {
		fmt.Fprintf(&b, "directory %q {}\n", d)
	}
	for i := range hostFiles {
		fmt.Fprintf(&b, "file %q {\n  source = \"files/f%02d\"\n}\n", hostFile(i), i)
	}
	for i := range hostLinks {
		fmt.Fprintf(&b, "link %q {\n  target = %q\n}\n", hostLink(i), hostFile(i))
	}
	for i := range hostTemplates {
		name, port := hostVars(i)
		fmt.Fprintf(&b, "file %q {\n  template = \"web.tmpl\"\n  vars = { name = %q, port = %q }\n}\n", hostTemplate(i),
			name, port)
	}
	return b.String()
}

// puppetHost is Puppet on a mixed host.
func puppetHost() tool {
	return tool{
		name: "puppet", about: "puppet apply", onceIfSlow: true,
		prepare: func(p place) error { return input(p, "manifest.pp", puppetHostManifest()) },
		command: func(place, work) []string { return puppetApply(hostInput) },
	}
}

func puppetHostManifest() string {
	var b strings.Builder
	for _, name := range hostPackages() {
		fmt.Fprintf(&b, "package { '%s': ensure => installed }\n", name)
	}
	for i := range hostAccounts {
		fmt.Fprintf(
			&b, "user { '%s': ensure => present, home => '/nonexistent', shell => '/usr/sbin/nologin', managehome => false }\n",
			hostAccount(
				i))
	}
	for _, d := range hostFolders() {
		fmt.Fprintf(&b, "file { '%s': ensure => directory, mode => '0755' }\n", d)
	}
	for i := range hostFiles {
		fmt.Fprintf(&b, "file { '%s': ensure => file, source => '%s/files/f%02d', mode => '0644' }\n", hostFile(i),
			hostInput, i)
	}
	for i := range hostLinks {
		fmt.Fprintf(&b, "file { '%s': ensure => link, target => '%s' }\n", hostLink(i), hostFile(i))
	}
	fmt.Fprintf(&b, "$web = @(END)\n%sEND\n", hostText("<%= $name %>", "<%= $port %>"))
	for i := range hostTemplates {
		name, port := hostVars(i)
		fmt.Fprintf(
			&b, "file { '%s': ensure => file, content => inline_epp($web, {'name' => '%s', 'port' => '%s'}), mode => '0644' }\n",
			hostTemplate(
				i), name, port)
	}
	return b.String()
}

// ansibleHost is Ansible on a mixed host.
func ansibleHost() tool {
	return tool{
		name: "ansible", about: "ansible-playbook, local connection with pipelining, no facts; one task for each kind, with loops",
		onceIfSlow: true,
		prepare: func(p place) error {
			if err := input(p, "web.j2", hostText("{{ item.name }}", "{{ item.port }}")); err != nil {
				return err
			}
			return writePlaybook(p.dest+hostInput, ansibleHostTasks())
		},
		command: func(place, work) []string { return ansiblePlay(hostInput) },
		env:     func(place) []string { return ansibleEnv(hostInput) },
	}
}

func ansibleHostTasks() string {
	var b strings.Builder
	task := func(text string, n int, item func(i int) string) {
		fmt.Fprintf(&b, "  - %s\n    loop:\n", text)
		for i := range n {
			fmt.Fprintf(&b, "    - %s\n", item(i))
		}
	}
	fmt.Fprintf(&b, "  - apt: {name: [%s], state: present}\n", strings.Join(hostPackages(), ", "))
	task("user: {name: '{{ item }}', home: /nonexistent, shell: /usr/sbin/nologin, create_home: false}", hostAccounts,
		hostAccount)
	task("file: {path: '{{ item }}', state: directory, mode: '0755'}", len(hostFolders()),
		func(i int) string { return hostFolders()[i] })
	pair := func(from, to string) string { return fmt.Sprintf("{from: '%s', to: '%s'}", from, to) }
	task("copy: {src: '{{ item.from }}', dest: '{{ item.to }}', mode: '0644'}", hostFiles, func(i int) string {
		return pair(fmt.Sprintf("%s/files/f%02d", hostInput, i), hostFile(i))
	})
	task("file: {src: '{{ item.from }}', dest: '{{ item.to }}', state: link}", hostLinks,
		func(i int) string { return pair(hostFile(i), hostLink(i)) })
	task("template: {src: web.j2, dest: '{{ item.to }}', mode: '0644'}", hostTemplates, func(i int) string {
		name, port := hostVars(i)
		return fmt.Sprintf("{to: '%s', name: '%s', port: '%s'}", hostTemplate(i), name, port)
	})
	return b.String()
}
