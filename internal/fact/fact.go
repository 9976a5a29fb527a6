// Package fact observes targets: the operating system, the addresses, the amount of
// memory. A repository declares the facts that it uses as inputs and refers to them as
// fact.os_codename.
//
//	values, err := fact.Gather(ctx, h, []string{"os_codename", "cpus"})
//
// Facts are typed values, never evaluated as expressions. A fact that a host cannot
// determine is null: an image has no kernel. All facts are read from the host's own
// files, without programs or network access.
package fact

import (
	"context"
	"fmt"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/host"
)

// Fact is one thing that can be known of a target.
type Fact struct {
	// Name is used in the language behind "fact.".
	Name string
	// Type is the type of the value; any fact may be null.
	Type cty.Type
	// Doc is one or more sentences for users.
	Doc string
	// Running tells that only a running machine has it: null for images.
	Running bool

	gather func(*source) (cty.Value, error)
}

// All is every fact, sorted by name.
func All() []Fact {
	ss := cty.Map(cty.List(cty.String))
	return []Fact{
		{"addresses", ss, "The IP addresses of each network interface except the loopback, sorted, without prefix length and without link-local addresses: `fact.addresses.eth0[0]`.", true, addresses},
		{"arch", cty.String, "The architecture of the host, as Debian names it: `amd64`, `arm64`, `armhf`, `riscv64`, …",
			false, arch(0)},
		{"arch_go", cty.String, "The architecture as Go names it: `amd64`, `arm64`, `arm`, `riscv64`, …", false, arch(1)},
		{"arch_kernel", cty.String, "The architecture as `uname -m` names it: `x86_64`, `aarch64`, …", false, arch(2)},
		{"boot_id", cty.String, "An identifier that changes with each boot.", true, bootID},
		{"container", cty.Bool, "True if the host is a container that shares a kernel with other hosts.", true, container},
		{"cpus", cty.Number, "The number of CPUs that are online.", true, cpus},
		{"default_interface", cty.String, "The network interface of the default route, the IPv4 one if there are two.",
			true, defaultInterface},
		{"default_ipv4", cty.String, "The first IPv4 address of the interface that has the IPv4 default route.", true,
			defaultIP(false)},
		{"default_ipv6", cty.String, "The first global IPv6 address of the interface that has the IPv6 default route.",
			true, defaultIP(true)},
		{"domain", cty.String, "The part of `fqdn` after its first dot; null if `fqdn` has no dot.", false, domain},
		{"fqdn", cty.String,
			"The full name of the host in /etc/hosts, or otherwise `hostname`. fettle queries no name server.", false, fqdn},
		{"guests", cty.Map(cty.String), "The state of each guest of the host by its name: `running` if it is " +
			"registered with systemd-machined, `stopped` if only its root below /var/lib/machines exists, `missing` if only " +
			"its settings in /etc/systemd/nspawn exist. At most 256, in the order of their names. Null if the user is not " +
			"allowed to list these directories.", true, guests},
		{"hostname", cty.String, "The name of the host, up to its first dot.", false, hostname},
		{"init", cty.String, "`systemd` if systemd is running, otherwise null.", true, initSystem},
		{"kernel", cty.String, "The release of the running kernel, as `uname -r` prints it.", true, kernel},
		{"mac_addresses", cty.Map(cty.String), "The hardware address of each network interface that has one.", true,
			macAddresses},
		{"machine_id", cty.String,
			"An identifier of the installation: 32 hex digits, derived from /etc/machine-id with a keyed hash, because that file should stay confidential.", false, machineID},
		{"memory_bytes", cty.Number, "The size of the memory in bytes.", true, meminfo("MemTotal")},
		{"os_codename", cty.String, "The code name of the release: `bookworm`, `trixie`.", false,
			osRelease("VERSION_CODENAME")},
		{"os_family", cty.String, "`debian` for Debian and its derivatives, otherwise the same as `os_id`.", false, osFamily},
		{"os_id", cty.String, "The operating system: `debian`, `ubuntu`, `raspbian`.", false, osRelease("ID")},
		{"os_major", cty.Number, "The first number of `os_version`: 12 for `12`, 24 for `24.04`.", false, osMajor},
		{"os_name", cty.String, "The display name of the operating system: `Debian GNU/Linux 12 (bookworm)`.", false,
			osRelease("PRETTY_NAME")},
		{"os_version", cty.String, "The version of the release: `12`, `24.04`; null for Debian testing and unstable.",
			false, osRelease("VERSION_ID")},
		{"product", cty.String, "The model of the host, from its firmware.", true, firmware("product_name")},
		{"swap_bytes", cty.Number, "The size of all swap space in bytes.", true, meminfo("SwapTotal")},
		{"timezone", cty.String, "The time zone: `Europe/Amsterdam`, `Etc/UTC`. `UTC` if none is set; null if " +
			"/etc/localtime is a copy of a zone, so that its name is unknown.", false, timezone},
		{"vendor", cty.String, "The manufacturer of the host, from its firmware.", true, firmware("sys_vendor")},
		{"virtualization", cty.String,
			"The virtualization of the host, with the names of systemd-detect-virt: `kvm`, `qemu`, `vmware`, `oracle`, `microsoft`, `xen`, `amazon`, `docker`, `podman`, `lxc`, `systemd-nspawn`, `vm-other`; `none` on bare metal.", true, virtualization},
	}
}

// Find is the fact of that name. The error suggests a similar name.
func Find(name string) (Fact, error) {
	var names []string
	for _, f := range All() {
		if f.Name == name {
			return f, nil
		}
		names = append(names, f.Name)
	}
	if near := diag.Nearest(name, names, max(2, len(name)/3)+1); near != "" {
		return Fact{}, fmt.Errorf("cannot find fact %q: there is no such fact. Did you mean %q?", name, near)
	}
	return Fact{}, fmt.Errorf("cannot find fact %q: there is no such fact; docs/facts.md has them all", name)
}

// Gather observes the facts with these names on h; nil means all. Every name
// asked for is in the result, with a null of its type where the host cannot
// tell. An unknown name and a file that should be readable and is not are
// errors. It changes nothing and may be repeated.
func Gather(ctx context.Context, h host.Host, names []string) (map[string]cty.Value, error) {
	return gather(ctx, newSource(h), names)
}

func gather(ctx context.Context, s *source, names []string) (map[string]cty.Value, error) {
	facts, err := these(names)
	if err != nil {
		return nil, err
	}
	out := make(map[string]cty.Value, len(facts))
	for _, f := range facts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		v := cty.NullVal(f.Type)
		if s.running || !f.Running {
			if v, err = f.gather(s); err != nil {
				return nil, fmt.Errorf("cannot gather fact %s: %w", f.Name, err)
			}
		}
		out[f.Name] = v
	}
	return out, nil
}

// these are the facts with these names; nil means all.
func these(names []string) ([]Fact, error) {
	if names == nil {
		return All(), nil
	}
	var out []Fact
	for _, name := range names {
		f, err := Find(name)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// Markdown is the document of all facts, docs/facts.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString("# Facts\n\nA fact is a value that fettle observes on a target. Declare each fact that you use, then refer to it as `fact.NAME`.\n" +
		"A fact is `null` if the target cannot determine it. A fact marked *running* is null for images (`--root`).\n\n" +
		"| fact | type | meaning |\n|---|---|---|\n")
	for _, f := range All() {
		doc := f.Doc
		if f.Running {
			doc += " *running*"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.Name, typeName(f.Type), doc)
	}
	return b.String()
}

// typeName is a type as it is written in the language.
func typeName(t cty.Type) string {
	switch {
	case t.IsMapType():
		return "map(" + typeName(t.ElementType()) + ")"
	case t.IsListType():
		return "list(" + typeName(t.ElementType()) + ")"
	case t == cty.Bool:
		return "bool"
	}
	return t.FriendlyName()
}
