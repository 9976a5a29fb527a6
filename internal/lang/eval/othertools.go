package eval

import (
	"fmt"
	"slices"

	"fettle.dev/fettle/internal/lang/syntax"
)

// attributesElsewhere are names of attributes in Ansible, Puppet, Salt and Terraform, with the
// attributes of fettle that have their meaning, the best first.
func attributesElsewhere() map[string][]string {
	return map[string][]string{
		"state": {"ensure", "running"}, "status": {"running"}, "started": {"running"}, "enable": {"enabled"},
		"depends_on": {"after"}, "require": {"after"}, "requires": {"after"}, "subscribe": {"listen"}, "watch": {"listen"},
		"onchanges": {"listen"},
		"count":     {"for_each"}, "loop": {"for_each"}, "with_items": {"for_each"}, "if": {"when"},
		"dest": {"path"}, "filename": {"path"}, "src": {"source"}, "text": {"content"}, "contents": {"content"},
		"perm": {"mode"}, "perms": {"mode"}, "permissions": {"mode"}, "file_permission": {"mode"}, "user": {"owner"},
		"onlyif": {"only_if"}, "refreshonly": {"lazy"}, "cmd": {"command"}, "chdir": {"cwd"}, "register": {"output"},
		"environment": {"env"},
		"pkg":         {"name"}, "url": {"uris"}, "regexp": {"match"}, "regex": {"match"},
	}
}

// kindsElsewhere are names of resources, modules and states of the same tools, with a hint.
func kindsElsewhere() map[string]string {
	return map[string]string{
		"resource": `a state begins with its kind: file "/etc/motd" { … }`, "template": `file "…" { template = "…" }`,
		"copy": `file "…" { source = "…" }`,
		"apt":  `package`, "yum": `package`, "dnf": `package`, "pkg": `package`, "apt_repository": `apt_source`,
		"systemd": `service`, "systemd_service": `service`, "systemd_unit": `unit`, "lineinfile": `file_line`,
		"blockinfile": `file_block`, "ini_file": `ini_key`,
		"command": `exec`, "shell": `exec`, "script": `exec`, "cmd": `exec`, "symlink": `link`,
		"ssh_authorized_key": `authorized_key`, "unarchive": `archive`, "get_url": `download`,
		"git": `git_checkout`, "vcsrepo": `git_checkout`, "cronjob": `cron`,
		"task": `a state: file, package, service, exec`, "handler": `notify = [service.nginx.reload]`,
		"data": `fact, lookup or exported`, "node": `target`, "class": `module`,
	}
}

// attributeHint suggests an attribute for a name that a state does not have.
func attributeHint(written string, allowed []string) string {
	for _, ours := range attributesElsewhere()[written] {
		if slices.Contains(allowed, ours) {
			return fmt.Sprintf(" In fettle it is %q.", ours)
		}
	}
	return syntax.Suggest(written, allowed)
}

// kindHint suggests a kind for a name that is not a kind.
func kindHint(written string, known []string) string {
	if ours, ok := kindsElsewhere()[written]; ok {
		return fmt.Sprintf(" In fettle: %s.", ours)
	}
	return syntax.Suggest(written, known)
}
