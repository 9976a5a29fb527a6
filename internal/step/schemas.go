package step

import "slices"

var (
	owner = Key{Name: "owner", Type: Account, Doc: "owner, by name or number; default: root"}
	group = Key{Name: "group", Type: Account, Doc: "Unix group, by name or number; default: root"}
)

// ensure determines whether the address must exist.
var ensure = Key{Name: "ensure", Type: Present, Doc: "present (the default) or absent"}

// phase is the last key of every verb that has it, so that Phase finds it at once.
var phase = Key{Name: "phase", Type: Int,
	Doc: "number of the state, if one run changes the address several times; default: 1"}

// lock is the key before phase, of every verb that changes a host.
var lock = Key{Name: LockKey, List: true,
	Doc: "name of a lock: a run that executes the step needs a slot of it"}

// Schemas lists every verb, in the order in which they are documented. The
// slice is fresh at each call.
func Schemas() []Schema {
	return slices.Concat(withLock(pathsSchemas(), editsSchemas(), accountsSchemas(), servicesSchemas(), commandsSchemas()),
		probesSchemas())
}

// withLock adds the key lock to schemas, before phase.
func withLock(parts ...[]Schema) []Schema {
	all := slices.Concat(parts...)
	for i, s := range all {
		at := len(s.Keys)
		if at > 0 && s.Keys[at-1].Name == phase.Name {
			at--
		}
		all[i].Keys = slices.Insert(s.Keys, at, lock)
	}
	return all
}

// pathsSchemas are the verbs that write whole paths, or their metadata.
func pathsSchemas() []Schema {
	return []Schema{
		{Mkdir, []string{"PATH"}, []Key{
			{Name: "owner", Type: Account, Doc: "owner, by name or number; default: unchanged, or root for a new directory"},
			{Name: "group", Type: Account,
				Doc: "Unix group, by name or number; default: unchanged, or root for a new directory"},
			{Name: "mode", Type: Mode, Doc: "permission bits; default: unchanged, or 0755 for a new directory"},
			{Name: "purge", Type: Bool, Doc: "entries that no step writes are removed"}, phase},
			"a directory with owner, group and mode"},
		{Copy, []string{"SOURCE", "PATH"}, []Key{owner, group,
			{Name: "mode", Type: Mode, Doc: "permission bits; default: 0644"},
			{Name: "sealed", Doc: "the content is sealed with the key of this ID; placeholder if the secret could not be decrypted"},
			{Name: "validate", Type: Words,
				Doc: "command that must accept the file; %s is the staged file; without %s the file is in place, and a failure restores the old one"},
			phase},
			"a regular file: content and metadata, atomically"},
		{Link, []string{"TARGET", "PATH"}, []Key{owner, group, phase}, "a symbolic link"},
		{Meta, []string{"PATH"}, []Key{{Name: "owner", Type: Account, Doc: "owner"},
			{Name: "group", Type: Account, Doc: "Unix group"},
			{Name: "mode", Type: Mode, Doc: "permission bits"},
			{Name: "acl", Doc: "access ACL in setfacl's short form, entries joined by commas"},
			{Name: "attrs", Doc: "inode attributes as chattr's letters: a, i, or none as -"}, phase},
			"owner, group, mode, ACL or attributes of a path that fettle does not write"},
		{Rm, []string{"PATH"}, []Key{phase}, "the absence of a path or tree"},
	}
}

// editsSchemas is the verb that writes a part of a file.
func editsSchemas() []Schema {
	return []Schema{
		{Edit, []string{"PATH"}, []Key{
			{Name: "block", Doc: "name of the marked block"},
			{Name: "content", Doc: "text of the block; a secret has the form sealed:KEY:DIGEST, also in line and value"},
			{Name: "comment", Doc: "beginning of comments in this file; default: #"},
			{Name: "line", Doc: "the line that must be there"},
			{Name: "match", Type: Pattern, Doc: "expression that finds the line to replace"},
			{Name: "key", Doc: "key of a key-value line; with format names joined by dots, [N] for an entry of a list"},
			{Name: "value", Doc: "value of the key; with format=json, yaml or toml as JSON"},
			{Name: "separator", Doc: "text between key and value; default: ="},
			{Name: "format", Doc: "json, yaml, toml, ini or xml: the key is a place in such a document; all other bytes stay unchanged"},
			{Name: "create", Type: Bool, Doc: "create a missing file (root, root, 0644)"},
			ensure, phase},
			"one region of a file with other content"},
	}
}

// accountsSchemas are the verbs of users and groups.
func accountsSchemas() []Schema {
	return []Schema{
		{User, []string{"NAME"}, []Key{
			{Name: "uid", Type: Int, Doc: "user id"}, {Name: "group", Type: Account, Doc: "primary Unix group"},
			{Name: "home", Type: AbsPath, Doc: "home directory"}, {Name: "shell", Type: AbsPath, Doc: "login shell"},
			{Name: "comment", Doc: "full name (GECOS)"},
			{Name: "password", Doc: "hash of the password for shadow(5), as sealed:KEY:DIGEST"},
			{Name: "system", Type: Bool, Doc: "a system account"},
			{Name: "create_home", Type: Bool, Doc: "create the home directory"}, ensure},
			"an account"},
		{Group, []string{"NAME"}, []Key{{Name: "gid", Type: Int, Doc: "group id"},
			{Name: "system", Type: Bool, Doc: "a system group"}, ensure}, "a Unix group"},
		{Member, []string{"USER", "GROUP"}, []Key{ensure}, "membership of a user in a supplementary group"},
	}
}

// servicesSchemas are the verbs of packages, units and the kernel.
func servicesSchemas() []Schema {
	return []Schema{
		{Pkg, []string{"NAME"}, []Key{{Name: "version", Type: Version, Doc: "exact version"},
			{Name: "held", Type: Bool, Doc: "not upgraded by apt (apt-mark hold)"},
			{Name: "ensure", Type: Purgeable,
				Doc: "present (the default), absent, or purged: absent, and its configuration and data are deleted"}},
			"an apt package; consecutive ones are one transaction"},
		{Unit, []string{"NAME"}, []Key{{Name: "enabled", Type: Bool, Doc: "started at boot"},
			{Name: "masked", Type: Bool, Doc: "cannot be started"}, {Name: "active", Type: Bool, Doc: "running now"},
			{Name: "timeout", Type: Seconds, Doc: "time limit to start or stop it; default: 5m"}, phase}, "a systemd unit"},
		{Sysctl, []string{"KEY"}, []Key{{Name: "value", Doc: "value at run time"}, phase}, "a kernel setting at run time"},
	}
}

// commandsSchemas are the verbs that run commands.
func commandsSchemas() []Schema {
	return []Schema{
		{Exec, []string{"NAME", "ARGV..."}, []Key{
			{Name: "cwd", Type: AbsPath, Doc: "working directory"},
			{Name: "env", Type: Assignment, List: true, Doc: "NAME=VALUE; a secret has the form sealed:KEY:DIGEST"},
			{Name: "user", Type: Account, Doc: "run as this user"},
			{Name: "creates", Type: AbsPath, Doc: "done if this path exists"},
			{Name: "unless", Type: Words, Doc: "done if this command succeeds"},
			{Name: "only_if", Type: Words, Doc: "runs only if this command succeeds"},
			{Name: "guard_network", Type: Bool, Doc: "unless and only_if need the network, also in a plan"},
			{Name: "timeout", Type: Seconds, Doc: "time limit, after which the whole process tree is killed; default: 5m"},
			{Name: "undo", Type: Words, Doc: "command that undoes it; without it the step is irreversible"},
			{Name: "output", Doc: "source of the result for later steps: stdout, or the path of a file that the command writes"}},
			"a command"},
		{Act, []string{"ACTION", "SUBJECT", "ARGV..."}, []Key{
			{Name: "on", Type: Address, List: true, Doc: "runs if one of these addresses changed"},
			{Name: "on_failure", Type: Address, List: true, Doc: "runs if one of these addresses failed"},
			{Name: "rescue", Doc: "name of the block that on_failure lists; if this action succeeds, the run skips the block and the addresses in behind, and continues"},
			{Name: "behind", Type: Address, List: true, Doc: "addresses after the block, which are skipped if it failed"},
			{Name: "timeout", Type: Seconds, Doc: "time limit; default: 5m"}},
			"a lazy action: reload, restart, start or stop a unit, or run a command"},
	}
}

// probesSchemas are the verbs that test a condition, and INCLUDE.
func probesSchemas() []Schema {
	return []Schema{
		{Wait, []string{"NAME"}, append(probe(),
			Key{Name: "barrier", Doc: "barrier of the fleet at which the host waits until it opens"},
			Key{Name: "signal", Doc: "signal of the fleet that must have been sent"},
			Key{Name: "since", Doc: "run: only a signal that was sent since the begin of the run counts"},
			Key{Name: "send", Doc: "signal of the fleet that the host sends"},
			Key{Name: "payload", Doc: "text of the sent signal, up to 4096 bytes"},
			Key{Name: "timeout", Type: Seconds, Doc: "time limit of all attempts, after which the step fails; default: 5m"}),
			"waits at its place in the list until a condition holds"},
		{Check, []string{"NAME"}, append(probe(),
			Key{Name: "within", Type: Seconds, Doc: "time limit of all attempts; default: 10s"}),
			"a verification after the run"},
		{Include, []string{"FILE"}, nil, "the steps of another file"},
	}
}

// probe returns the conditions of WAIT and CHECK.
func probe() []Key {
	return []Key{
		{Name: "http", Type: URL, Doc: "URL that must answer"},
		{Name: "status", Type: Int, Doc: "expected status; default: 200"},
		{Name: "tcp", Type: HostPort, Doc: "host:port that must accept connections"},
		{Name: "exec", Type: Words, Doc: "command that must succeed"},
		{Name: "unit", Type: UnitName, Doc: "unit that must be active"},
		{Name: "file", Type: AbsPath, Doc: "path that must exist"},
		{Name: "contains", Doc: "text that the answer, output or file must contain"},
	}
}
